"""What auditors give to a verifier: the keys, checkpoints and certificates that they trust."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from evidence.verify.trust import Trust

Key = Annotated[Path, typer.Option(metavar="FILE", help="The public key, from a source that you trust.")]
Keys = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The key register (keys.json), for bundles signed by earlier keys.")
]
LogKey = Annotated[
    list[str] | None,
    typer.Option(metavar="VKEY", help="A key of the audit log (vkey): what is verified must be in its log."),
]
Witness = Annotated[list[str] | None, typer.Option(metavar="VKEY", help="The key of a witness of the log (vkey).")]
Witnesses = Annotated[
    int | None, typer.Option(min=0, metavar="NUMBER", help="How many witnesses must have cosigned; default: all.")
]
Checkpoint = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="A checkpoint that you kept: the bundle's log must extend it; may be repeated."),
]
Log = Annotated[Path | None, typer.Option(metavar="FOLDER", help="The folder of the published log, to compare with.")]
Tsa = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Certificates (PEM) of a time stamping authority: the bundle must have its time stamp.",
    ),
]
Stamp = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="A time stamp made after the bundle (`log stamp`); may be repeated."),
]

Undoes = Annotated[
    Path | None,
    typer.Option(
        "--undoes", metavar="BUNDLE", help="The bundle of the run that FILE undoes: FILE must name its receipts."
    ),
]
Child = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="BUNDLE",
        help="The bundle of a run that FILE waited for: it must be the one that FILE names; may be repeated.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Given:
    """The key; a register of earlier keys; keys of the log and of its witnesses (vkey), of whom `needed` must cosign.

    Then checkpoints that were kept, and the folder in which the log is published; and the certificates of a time
    stamping authority, with stamps that came after the bundles. And bundles of runs that the bundle's run waited for,
    or undoes.
    """

    key: Path
    register: Path | None = None
    log_keys: Sequence[str] = ()
    witnesses: Sequence[str] = ()
    needed: int | None = None
    checkpoints: Sequence[Path] = ()
    log: Path | None = None
    tsa: Path | None = None
    stamps: Sequence[Path] = ()
    children: Sequence[Path] = ()
    undone: Path | None = None

    def trust(self) -> "Trust":
        """Return what the verifier believes; raise ReceiptsError or TrustError where it can't be read."""
        from evidence.verify.trust import trust_of

        needed = len(self.witnesses) if self.needed is None else self.needed
        return trust_of(self.key, self.register, self.log_keys, self.witnesses, needed, self.tsa, self.stamps)
