"""People who are asked: who they are, what they may do, and what they take on."""
