"""How long the tool itself takes, measured beside what its users would otherwise do."""
