"""What a person's desk reads: what waits for them, what they asked for, and what they decided."""
