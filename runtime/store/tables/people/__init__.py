"""Tables of people: the directory, notices, workspaces and figures."""
