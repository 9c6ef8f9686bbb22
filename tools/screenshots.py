"""Take the pictures of the documentation again: `python -m tools.screenshots`, from the root of the checkout."""

import asyncio
import sys
import tempfile
from pathlib import Path

from PIL import Image

from countersign.embedded.work import SetUpError
from countersign.settings import ROOT
from tools.screenshots_case import take_case
from tools.screenshots_table import CASE, GALLERY, SIZE_LIMIT, scenes
from tools.shooting import looking, take

IMAGES = ROOT / "docs" / "images"


async def take_all(folder: Path) -> None:
    """Write every picture into a folder, as large as it comes."""
    async with looking(folder) as camera:
        await take_case(folder, camera.browser)
    await take(folder, scenes())


def keep(taken: Path, name: str) -> None:
    """Write a picture into the documentation, with as many colours as a palette has."""
    to = IMAGES / f"{name}.png"
    with Image.open(taken) as picture:
        small = picture.convert("RGB").quantize(dither=Image.Dither.NONE)
    small.save(to, optimize=True)
    if to.stat().st_size > SIZE_LIMIT:
        sys.exit(f"{to} has over {SIZE_LIMIT:,} bytes")
    print(f"{to.relative_to(ROOT)}: {to.stat().st_size:,} bytes")


def main() -> None:
    """Take them, and put them into the documentation."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(take_all(Path(folder)))
        except SetUpError as error:
            sys.exit(str(error))
        for name, taken in ({name: name for name in CASE} | GALLERY).items():
            keep(Path(folder) / f"{taken}.png", name)


if __name__ == "__main__":
    main()
