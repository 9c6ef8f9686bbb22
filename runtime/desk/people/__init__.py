"""The counter at which one looks people up."""
