"""The commands about people: the directory, and who stands in for whom."""
