"""Files that tests of several kinds use."""

from pathlib import Path

DIRECTORY = Path(__file__).parent / "directory.yaml"
"""People and agents of the sandbox workspace."""
