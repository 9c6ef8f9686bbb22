"""A key file that cannot be made is said in one sentence, which names its setting."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from countersign.log_key import make_signer, rotate_log_key
from countersign.settings import ConfigError, Settings
from evidence.key_ring import KeyRing
from receipts.signing import KeyFileError

MADE: list[tuple[str, Callable[[Settings], object], type[Exception]]] = [
    ("COUNTERSIGN_LOG_KEY: ", make_signer, ConfigError),
    ("COUNTERSIGN_LOG_KEY: ", rotate_log_key, ConfigError),
    ("", lambda settings: KeyRing(settings.key_path).keys(), KeyFileError),
    ("", lambda settings: KeyRing(settings.key_path).rotate(), KeyFileError),
]


@pytest.mark.parametrize(("begins", "make", "error"), MADE)
def test_a_key_that_cannot_be_made_is_one_sentence(begins: str, make: Any, error: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    key = tmp_path / "file/keys/any.pem"
    with pytest.raises(error) as caught:
        make(Settings(log_key=key, signing_key=key))
    why = f"{begins}{key} cannot be made: Not a directory; name another place, or let this process write to its folder"
    assert str(caught.value) == why
