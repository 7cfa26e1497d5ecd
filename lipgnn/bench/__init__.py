"""How long attention, epochs and the tool itself take, measured beside what they should be held against."""
