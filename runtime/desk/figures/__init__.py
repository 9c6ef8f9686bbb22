"""The counter of figures: how people do with what they are asked."""
