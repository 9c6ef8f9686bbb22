"""Effects: the actions that they propose, where they stand, and what holds them back."""
