"""Which settings are secret, and so belong in files; and what takes their values out of logs and outside texts."""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import SecretStr

from countersign.settings import Settings
from receipts.privacy import Privacy, secrets_in
from runtime.definitions.problems import DefinitionError


def make_privacy(settings: Settings) -> Privacy:
    """Return what takes out the secrets of these settings."""
    return Privacy.of([*_own_secrets(settings), *_pack_secrets(settings)])


def _own_secrets(settings: Settings) -> Iterator[str]:
    for name in type(settings).model_fields:
        yield from secrets_in(getattr(settings, name))


def _pack_secrets(settings: Settings) -> Iterator[str]:
    """Yield what packs declare to be secret. Of settings that a start refuses, all is, but addresses."""
    if not settings.pack:
        return
    from runtime.definitions.registry import discover_settings  # noqa: PLC0415 - large, and few commands have packs set

    listed = [folder.name for folder in settings.packs]
    for name, given in settings.pack.items():
        try:
            yield from secrets_in(discover_settings({name: given}, listed))
        except DefinitionError:
            yield from (text for text in given.values() if text and "://" not in text)
            yield from secrets_in(given)


def is_secret(name: str) -> bool:
    """Return whether a setting is secret by its type; a pack's settings may be."""
    return name == "pack" or _holds_secret(Settings.model_fields[name].annotation)


def _holds_secret(kind: Any) -> bool:
    return kind is SecretStr or any(map(_holds_secret, get_args(kind)))
