"""Coverage of a policy by recorded questions: which lines they evaluate, and by how many of them."""
