"""The declared tables, and the numbered steps that make them."""
