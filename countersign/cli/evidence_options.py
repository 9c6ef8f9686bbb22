"""Options that auditors give: days, CSV, and the keys, checkpoints and certificates that they trust."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from evidence.export.index import Period
    from evidence.verify.trust import Trust


Key = Annotated[Path, typer.Option(metavar="FILE", help="The public key, from a source that you trust.")]
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
class VerifierInputs:
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


Given = dict[str, Any]
"""Members of `VerifierInputs`."""


def trusted(
    keys: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The key register (keys.json), for bundles signed by earlier keys."),
    ] = None,
    log_key: Annotated[
        list[str] | None,
        typer.Option(metavar="VKEY", help="A key of the audit log (vkey): what is verified must be in its log."),
    ] = None,
    witness: Annotated[
        list[str] | None, typer.Option(metavar="VKEY", help="The key of a witness of the log (vkey).")
    ] = None,
    witnesses: Annotated[
        int | None, typer.Option(min=0, metavar="NUMBER", help="How many witnesses must have cosigned; default: all.")
    ] = None,
) -> Given:
    """Return what is trusted beside the key."""
    return {"register": keys, "log_keys": log_key or [], "witnesses": witness or [], "needed": witnesses}


def compared(
    checkpoint: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="A checkpoint that you kept: the bundle's log must extend it; may be repeated."
        ),
    ] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder of the published log, to compare with.")
    ] = None,
    tsa: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Certificates (PEM) of a time stamping authority: the bundle must have its time stamp.",
        ),
    ] = None,
    stamp: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A time stamp made after the bundle (`log stamp`); may be repeated."),
    ] = None,
) -> Given:
    """Return what a bundle is compared with."""
    return {"checkpoints": checkpoint or [], "log": log, "tsa": tsa, "stamps": stamp or []}


T = TypeVar("T")

AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV for a spreadsheet.")]
FirstDay = Annotated[str, typer.Option("--since", metavar="DAY", help="The first day, in UTC: 2026-01-01.")]
LastDay = Annotated[str, typer.Option("--until", metavar="DAY", help="The last day, which is included.")]

QuickVote = Annotated[
    str, typer.Option(metavar="DURATION", help="A vote this soon after opening the request is an exception.")
]


def quick_of(text: str) -> timedelta:
    """Return the duration that --quick-vote names."""
    from runtime.definitions.durations import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--quick-vote") from error


def period_of(first: str, last: str) -> "Period":
    """Return the period that both options name."""
    from evidence.export.index import period

    one, other = _day_of(first, "--since"), _day_of(last, "--until")
    return _parsed_option(lambda: period(str(one), str(other)), "--since")


def _day_of(text: str, option: str) -> date:
    """Return the day that an option names, one that another follows."""
    from evidence.export.index import day, end_of

    found = _parsed_option(lambda: day(text), option)
    _parsed_option(lambda: end_of(found), option)
    return found


def expect_one_format(*, as_json: bool, as_csv: bool) -> None:
    """Refuse a command that is to print JSON and CSV."""
    if as_json and as_csv:
        raise typer.BadParameter("give only one of them", param_hint="--json, --csv")


def show_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print rows for a spreadsheet."""
    from evidence.export.index import csv_of

    sys.stdout.buffer.write(csv_of(columns, rows))


def _parsed_option(read: Callable[[], T], option: str) -> T:
    from evidence.export.index import PeriodError

    try:
        return read()
    except PeriodError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
