"""The steps of a runbook, read: their shapes, their tree, and what must hold for each kind of node."""
