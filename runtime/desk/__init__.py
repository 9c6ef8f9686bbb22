"""The runtime's counter for those above it: ports and their views."""
