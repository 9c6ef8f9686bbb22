"""`timeline.md` of format 2: the page, and a sentence for each leaf."""
