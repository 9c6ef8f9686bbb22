"""``python -m countersign``."""

from countersign.cli.app import main

main()
