"""Whom a verifier believes: the key that it was given, and what else it was given by somebody that it trusts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evidence.errors import EvidenceError
from evidence.log_proofs import LaterStamp, read_later
from receipts.checkpoint import LogKeys, open_checkpoint
from receipts.errors import LogError
from receipts.hashes import TreeHead
from receipts.note import VerifierKey, parse_note, parse_verifier_key
from receipts.register import Entry, Register, believed, read_register
from receipts.signing import PublicKey, load_public
from receipts.stamp import Authority, load_authority

_WITH_LOG_KEY = "Held against the log, too, as the log's key signed it."
_WITHOUT_LOG_KEY = (
    "The log's key was not given (--log-key): anyone with the evidence key could have invented all of this."
)


class TrustError(EvidenceError):
    """What was given to be trusted cannot be used; the message says why."""


@dataclass(frozen=True)
class Trust:
    """The key of evidence; the register, which says what of earlier keys; the keys of the log; its witnesses.

    So many of the witnesses must have cosigned the checkpoint as `witnessed` says. And whose time stamps are believed,
    with stamps that came later than bundles.
    """

    key: PublicKey
    register: Register | None = None
    log: LogKeys | None = None
    witnesses: tuple[VerifierKey, ...] = ()
    witnessed: int = 0
    authority: Authority | None = None
    later: tuple[LaterStamp, ...] = ()

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """Return what is believed of keys, by id; nothing where there is no register. Raise RegisterError."""
        return believed(self.register, self.key) if self.register else {}

    @property
    def log_key(self) -> str:
        """Return whether the log's key was given, in a sentence for the top of a verdict that all is well."""
        return _WITH_LOG_KEY if self.log else _WITHOUT_LOG_KEY

    @property
    def keys(self) -> list[PublicKey]:
        """Return the keys that may have signed, the one that was given first."""
        return [self.key, *(one.key for one in self.entries.values() if one.id != self.key.key_id)]


def trust_of(
    key: Path,
    register: Path | None = None,
    log_keys: Sequence[str] = (),
    witnesses: Sequence[str] = (),
    needed: int = 0,
    authority: Path | None = None,
    later: Sequence[Path] = (),
) -> Trust:
    """Read what is to be trusted; raise TrustError, or a ReceiptsError such as KeyFileError: what is wrong with it."""
    try:
        data = register.read_bytes() if register else None
    except OSError as error:
        raise TrustError(f"{register} cannot be read: {error.strerror}") from error
    if needed > len(witnesses):
        raise TrustError(f"{needed} witnesses cannot have cosigned: {len(witnesses)} are given")
    if witnesses and not log_keys:
        raise TrustError("witnesses say something about a log whose key is given, and none is: --log-key")
    if later and authority is None:
        raise TrustError("stamps are believed from somebody whose certificate is given, and none is: --tsa")
    keys = tuple(map(parse_verifier_key, log_keys))
    trust = Trust(
        key=load_public(key),
        register=None if data is None else read_register(data),
        log=LogKeys(keys) if keys else None,
        witnesses=tuple(map(parse_verifier_key, witnesses)),
        witnessed=needed,
        authority=load_authority(authority) if authority else None,
        later=tuple(map(read_later, later)),
    )
    _ = trust.entries  # what is wrong with the register is said before any file is looked at
    return trust


def open_kept(file: Path, log: LogKeys | None) -> TreeHead:
    """Return size and root of the log in a checkpoint that was kept; raise TrustError where it is none."""
    if log is None:
        raise TrustError("a checkpoint says something about a log whose key is given, and none is: --log-key")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise TrustError(f"{file} cannot be read: {error.strerror}") from error
    try:
        return open_checkpoint(parse_note(data), log).head
    except LogError as error:
        raise TrustError(f"{file}: {error}") from error
