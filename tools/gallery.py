"""Look at everything that people see: `python -m tools.gallery FOLDER` writes pictures of it, of samples.

They are wide and narrow, light and dark. What begins like one of the names behind the folder is taken alone.
"""

import asyncio
import sys
from pathlib import Path

from tools.shooting import take


def main(arguments: list[str]) -> None:
    """Take the pictures."""
    if not arguments:
        sys.exit("usage: python -m tools.gallery FOLDER [NAME]...")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(take(folder, tuple(arguments[1:])))


if __name__ == "__main__":
    main(sys.argv[1:])
