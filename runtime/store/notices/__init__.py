"""How people are told: what the directory says of it, and what they were told."""
