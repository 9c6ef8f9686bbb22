"""Rules about what people were asked, and said."""
