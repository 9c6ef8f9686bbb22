"""The commands about verbs and runbooks: what the packs declare, which versions there are, and what starts."""
