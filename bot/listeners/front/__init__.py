"""Commands, shortcuts and forms: how people come who were not asked."""
