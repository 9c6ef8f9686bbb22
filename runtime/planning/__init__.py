"""What follows from what: the pure planner, and the shell that commits its answer."""
