"""Rules about votes: whose they are, for whom, with what they are signed, and which do without the others."""
