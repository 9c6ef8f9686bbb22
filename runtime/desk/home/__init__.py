"""The counter of a person's desk: what waits for them, what they asked for, what they decided."""
