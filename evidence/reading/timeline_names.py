"""How people, actions and steps are named in a sentence, and words of others: as Markdown for a line."""

from evidence.reading.material import Material, Record, text
from evidence.reading.shown import prose, quoted
from evidence.reading.words import plain

NAME = 120
"""Characters of a name, a target or a title."""
TEXT = 300
"""Characters of a reason or another sentence."""


def named(value: str) -> str:
    """Return a name in the words of others."""
    return quoted(value, NAME)


def person(material: Material, identifier: str) -> str:
    """Return who a person, a program or an account is."""
    return f"**{prose(material.name_of(identifier), NAME)}**"


def actor(material: Material, leaf: Record) -> str:
    """Return who did what a leaf tells."""
    return person(material, text(leaf, "actor", "id"))


def action(effect: Record) -> str:
    """Return an action on its target, by an effect or by a receipt."""
    operation, target = text(effect, "operation"), text(effect, "target")
    return f"{named(plain(operation))} on {named(target)}" if target else named(plain(operation))


def step(material: Material, leaf: Record) -> str:
    """Return the step that a leaf is about; "" for none."""
    path = text(leaf, "correlation", "step")
    return named(material.in_words(path)) if path else ""


def asked(material: Material, leaf: Record) -> str:
    """Return what people were asked whom a leaf is about."""
    approval_id = text(leaf, "data", "approval_id") or text(leaf, "correlation", "approval_id")
    return named(material.asked(approval_id, text(leaf, "correlation", "step")))


def why(leaf: Record, name: str) -> str:
    """Return a member of a leaf's data that says why, behind a colon; "" where there is none."""
    return because(text(leaf, "data", name))


def because(words: str) -> str:
    """Return words of others behind a colon; "" where there are none."""
    return f": {quoted(words, TEXT)}" if words else ""
