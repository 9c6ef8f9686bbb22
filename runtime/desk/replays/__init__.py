"""Plans runs again from their records."""
