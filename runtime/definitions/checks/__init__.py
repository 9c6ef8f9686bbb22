"""What is checked of a definition before it may execute."""
