"""A table as people see it: text, Markdown, LaTeX, CSV, JSON and HTML."""
