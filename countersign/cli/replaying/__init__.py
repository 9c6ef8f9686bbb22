"""Planning runs again from the command line."""
