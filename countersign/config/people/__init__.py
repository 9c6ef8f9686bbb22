"""The file of the directory, and what is brought into it from elsewhere."""
