"""The commands about evidence that is kept: who fetches it, what is held, and what is stuck."""
