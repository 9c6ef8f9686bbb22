"""Many workspaces: which of them a request comes from, with whose token we answer, and how the app gets there."""
