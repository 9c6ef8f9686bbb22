"""What people read of a bundle: an account of the run, taken from its members alone, and the texts made from it."""
