"""The pictures of the documentation: `python -m tools.screenshots`, from the root of the checkout."""
