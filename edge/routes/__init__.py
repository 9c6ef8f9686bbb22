"""What agents and other systems ask of the edge, a module for each matter."""
