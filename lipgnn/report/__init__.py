"""Results to tables, figures and pages: read, grouped, averaged, printed. No torch here."""
