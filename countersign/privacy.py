"""The secrets that the settings hold, as what takes them out of every text from outside and of the log."""

from collections.abc import Iterator

from countersign.settings import Settings
from receipts.privacy import Privacy
from receipts.secrets import secrets_in
from runtime.definitions.problems import DefinitionError
from runtime.definitions.registry import discover_settings


def make_privacy(settings: Settings) -> Privacy:
    """Return what takes out the secrets of these settings."""
    return Privacy.of([*_own(settings), *_of_packs(settings)])


def _own(settings: Settings) -> Iterator[str]:
    for name in type(settings).model_fields:
        yield from secrets_in(getattr(settings, name))


def _of_packs(settings: Settings) -> Iterator[str]:
    """Yield what packs declare to be secret. Of settings that a start refuses, all is, but addresses."""
    listed = [folder.name for folder in settings.packs]
    for name, given in settings.pack.items():
        try:
            yield from secrets_in(discover_settings({name: given}, listed))
        except DefinitionError:
            yield from (text for text in given.values() if text and "://" not in text)
            yield from secrets_in(given)
