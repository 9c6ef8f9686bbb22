"""What connectors share: strict models, an HTTP client with one mapping of errors, and the base of stand-ins."""
