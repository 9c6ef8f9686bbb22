"""Rules about the run: its chain, its steps, and its end."""
