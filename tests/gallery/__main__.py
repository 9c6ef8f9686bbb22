"""`python -m tests.gallery [FOLDER]`, or `make gallery`: look at every page of the console, and do every act.

A real case is played on real parts. Each role opens every page, at 1440 and 390, light and dark. What axe-core finds,
an error in the browser's console, a page that is too wide or too heavy, and a route that was not opened fail it.
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.browser import chromium, stop_chromium
from tests.gallery.house import PEOPLE, opened, say
from tests.gallery.pages import Shown, missing, open_all
from tests.gallery.walk import Walk

DEFAULT = Path("build/gallery")
_ASKED = "SELECT approval_id FROM approvals WHERE run_id = %(run)s AND status = 'requested'"


async def play(walk: Walk) -> Shown:
    """Do every act while workers work, and stop them; return what pages are about."""
    house = walk.house
    async with house.serving(works=True):
        await walk.come_in()
        for role, person in PEOPLE.items():
            await walk.sign_in(person, role)
        done, waiting, refused = [await house.bring_in("kyc", "onboarding") for _ in range(3)]
        access = await house.bring_in("access-request")
        incident, canceled, *many = [await house.bring_in("incident-triage", "outage") for _ in range(4)]
        decided = await walk.play(done)
        await walk.reject(refused)
        await walk.operate(canceled, many)
        kept = await walk.audit(done)
        asked = await walk.asked(waiting)
        await many[0].until("its evidence", lambda run: bool(run["sha256"]))
    trouble = house.trouble(access.run_id, incident.run_id, many[0].run_id)
    return Shown(done.run_id, waiting.run_id, canceled.run_id, decided, asked, kept, trouble)


async def look(folder: Path, home: Path) -> list[str]:
    """Do all of it; return what is wrong."""
    async with AsyncExitStack() as stack:
        house = await stack.enter_async_context(opened(home))
        walk = Walk(house, await stack.enter_async_context(chromium()), folder)
        shown = await play(walk)
        async with house.serving(works=False):
            await asyncio.gather(*(open_all(walk.eyes[role], role, shown) for role in PEOPLE))
        return [fault for eye in walk.eyes.values() for fault in eye.faults] + unseen(walk)


def unseen(walk: Walk) -> list[str]:
    """Return which routes of the application were not opened: those behind the door, by each role."""
    left = {role: missing(walk.eyes[role].opened, door=False) for role in PEOPLE}
    door = {path for eye in walk.eyes.values() for path in eye.opened}
    return [
        *(f"{role} opened no {path}" for role, paths in left.items() for path in paths),
        *(f"nobody opened {path}" for path in missing(door, door=True)),
    ]


async def run(folder: Path) -> list[str]:
    """Look at everything; leave no process behind."""
    with TemporaryDirectory(prefix="countersign-gallery-") as home:
        try:
            return await look(folder, Path(home))
        finally:
            await stop_chromium()


def main(arguments: list[str]) -> None:
    """Write the pictures into a folder; exit with 1 where anything is wrong."""
    folder = Path(arguments[0]) if arguments else DEFAULT
    folder.mkdir(parents=True, exist_ok=True)
    found = asyncio.run(run(folder))
    say(f"{len(list(folder.glob('*.png')))} pictures in {folder}; {len(found)} faults")
    sys.exit("\n".join(found) if found else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
