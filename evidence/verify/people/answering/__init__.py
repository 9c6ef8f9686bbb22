"""Rules about what people did with a request beside voting on it."""
