"""JSON laid out for people: labelled rows, tables and what changes, as data."""
