"""The documentation shows the pictures that its tool takes: all of them, no others, and small ones."""

import re
from pathlib import Path

from tools.gallery import OF_LINKS, SIZES
from tools.gallery_homes import homes, lists
from tools.gallery_messages import messages
from tools.gallery_modals import modals, pages
from tools.samples import SAMPLES
from tools.screenshots import CASE, GALLERY, SIZE_LIMIT

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/images"


def test_each_picture_is_one_that_the_tool_takes_and_each_that_it_takes_is_there() -> None:
    assert {file.stem for file in IMAGES.glob("*.png")} == {*CASE, *GALLERY}
    assert not CASE.keys() & GALLERY.keys()


def test_each_picture_is_shown_in_the_documentation_and_each_that_is_shown_is_there() -> None:
    shown = {
        (page.parent / found).resolve()
        for page in (ROOT / "README.md", *ROOT.glob("docs/*.md"))
        for found in re.findall(r"\]\(([^)]+\.(?:png|svg))\)", page.read_text(encoding="utf-8"))
    }
    assert shown == set(IMAGES.iterdir())


def test_each_picture_has_a_palette_and_is_small() -> None:
    for file in IMAGES.glob("*.png"):
        picture = file.read_bytes()
        assert picture[25] == 3, f"{file.name} has no palette"
        assert len(picture) <= SIZE_LIMIT, file.name


def test_what_is_taken_of_the_gallery_is_in_it_and_no_name_stands_twice() -> None:
    pending, approved = SAMPLES["pending"], SAMPLES["approved"]
    names = [
        *(name for name, _, _ in messages()),
        *(name for name, _ in (*homes(pending, approved), *lists(pending), *modals(), *pages())),
        OF_LINKS,
    ]
    assert len(set(names)) == len(names)
    assert set(GALLERY.values()) <= {f"{name}-{size}" for name in names for size, *_ in SIZES}
