"""Names the setting of a key file that cannot be used."""

from collections.abc import Iterator
from contextlib import contextmanager

from countersign.settings import ConfigError, variable
from receipts.signing import KeyFileError


@contextmanager
def named(setting: str) -> Iterator[None]:
    """Raise ConfigError, which names the setting, in place of a KeyFileError."""
    try:
        yield
    except KeyFileError as error:
        raise ConfigError(f"{variable(setting)}: {error}") from error
