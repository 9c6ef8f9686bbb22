"""A request as its card shows it: open, folded, and its buttons."""
