"""How long a test waits for what must happen: long, because it ends as soon as it has happened."""

MINUTE = 60.0
POLICY = 0.5
"""How long the product waits for policy, as fault tests have it."""
