"""How people are told: when they may be, how often, and how many messages are enough."""
