"""Asks policy again, with the policies of a bundle."""
