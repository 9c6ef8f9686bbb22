"""``python -m countersign``."""

from countersign.cli import main

main()
