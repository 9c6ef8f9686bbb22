"""Taking back what a run did: what can be undone, and the definition of the run that undoes it. Pure."""
