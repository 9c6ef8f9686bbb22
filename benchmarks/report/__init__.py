"""What comes of a run: its measures, their figures, the table and the page. Pure."""
