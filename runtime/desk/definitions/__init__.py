"""The counters about the life of definitions: what a start brings, who moves a version, and what there is to see."""
