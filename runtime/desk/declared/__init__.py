"""What the author of a verb or a step wants to be seen on its card."""
