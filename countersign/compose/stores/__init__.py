"""What is kept, and where: the database, the archive and its bucket."""
