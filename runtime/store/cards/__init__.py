"""Where the cards of requests stand, and what they showed."""
