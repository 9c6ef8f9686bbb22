"""One sentence for each leaf of a run, in which people, actions and words of others stand as they are on record."""

from evidence.reading import timeline_course as course
from evidence.reading import timeline_people as people
from evidence.reading.material import Material, Record, text
from evidence.reading.shown import prose
from evidence.reading.timeline_names import NAME, actor, step, why
from evidence.reading.words import plain

_PLAIN = {
    "run.started": "The run started",
    "run.running": "The run goes on",
    "run.waiting": "The run waits for an answer",
    "run.waiting_approval": "The run waits for people",
    "run.canceled": "The run was canceled",
    "evidence.begun": "The sealing of this evidence began",
}
_TELL = course.TELL | people.TELL


def sentence(material: Material, leaf: Record) -> str:
    """Return what happened, as Markdown for a line."""
    event = text(leaf, "event")
    return _PLAIN.get(event) or _TELL.get(event, _any)(material, leaf)


def _any(material: Material, leaf: Record) -> str:
    """Say what there is no sentence for: the event, of which step, and why."""
    about = f" for {step(material, leaf)}" if step(material, leaf) else ""
    by = f", by {actor(material, leaf)}" if text(leaf, "actor", "kind") != "system" else ""
    what = prose(plain(text(leaf, "event")), NAME)
    return f"{what[:1].upper()}{what[1:]}{about}{by}{why(leaf, 'error') or why(leaf, 'reason')}"
