"""Making the server programs ready. Standard library only: set-up uses it before any package is installed."""
