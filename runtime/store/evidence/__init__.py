"""What is read and written about an ended run: its bundle, its story, and what it forgets."""
