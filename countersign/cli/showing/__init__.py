"""How a run is shown to people: what to look at first, and what is as it should be in few lines."""
