"""What a bundle tells people: an account of the run, taken from its members alone, and the texts made from it."""
