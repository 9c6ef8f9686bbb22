"""The other sides, invented: the stand-ins of the pack and what they know."""
