"""The group `policy shadow`: runs a candidate policy beside the one in force, and shows the changes."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.command import Row, find_one, moment_text, out, run, shared_settings, show_json, show_rows
from countersign.cli.options import AsJson
from countersign.cli.policy_options import Packs, folders_of, opa_program

if TYPE_CHECKING:
    from runtime.services.policy_shadows import Window

shadow = typer.Typer()

_LOWEST = 19
_OTHERS = 10
_COLUMNS = ("kind", "decision_id", "operation", "rules", "differences")


@shadow.command("run")
def run_shadow(
    *,
    candidate: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The candidate policy; changes of the folder are picked up.")
    ],
    packs: Packs = None,
) -> None:
    """Ask a candidate policy about each new decision until stopped, and record the changes.

    It is a separate process with the lowest priority; no run waits for it. Its answers decide nothing.
    """
    from countersign.policy_shadow import ShadowRunner

    runner = ShadowRunner(shared_settings("database_url"), opa_program(), folders_of(candidate, packs), _tell())
    _give_way()
    with suppress(KeyboardInterrupt):
        run(runner.run())


def _give_way() -> None:
    """Give the process the lowest priority; on Linux it gets idle CPU time only."""
    os.nice(_LOWEST)
    if sys.platform == "linux":
        with suppress(PermissionError):  # of a container that forbids it
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _tell() -> Any:
    """Return a callback that prints each window once."""
    told: set[str] = set()

    def tell(window: "Window") -> None:
        if window.shadow_id not in told:
            told.add(window.shadow_id)
            out.print(f"{window.shadow_id}: asking {window.candidate} since {moment_text(window.began_at)}")

    return tell


@shadow.command()
def show(
    shadow_id: Annotated[str | None, typer.Argument(metavar="SHADOW", help="Its id. Default: the newest one.")] = None,
    *,
    examples: Annotated[
        int, typer.Option(min=0, max=1_000, metavar="NUMBER", help="Maximum number of decisions of each class.")
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Show the changes that a candidate policy would have made since its shadow began, riskiest first."""
    from policy.backtest.summary import TITLES
    from policy.differences import DifferenceClass
    from runtime.services.policy_shadows import find_report

    named = f"shadow {shadow_id}" if shadow_id else "shadow yet: start one with `countersign policy shadow run`"
    found = find_one(named, find_report, shadow_id, examples)
    window = found.window
    if as_json:
        others = [vars(one) for one in found.others]
        show_json({**vars(window), "behind": found.behind, "differences": found.differences, "others": others})
        return
    ended = f", until {moment_text(window.ended_at)}" if window.ended_at else ""
    out.print(f"{window.shadow_id}: {window.candidate}\nsince {moment_text(window.began_at)}{ended}")
    out.print(f"{sum(window.counts.values())} decisions asked, {found.behind} leaves of the audit log behind\n")
    classes = [{"class": TITLES[kind], "decisions": window.counts.get(kind, 0)} for kind in DifferenceClass]
    show_rows(classes, ("class", "decisions"))
    if found.differences:
        out.print("")
        show_rows([_row(one) for one in found.differences], _COLUMNS)
    for one in found.others[:_OTHERS]:
        out.print(f"\n{one.shadow_id}: {one.candidate}, {sum(one.counts.values())} decisions")


def _row(judged: Row) -> Row:
    """Return a judged decision as a row, with its differences as text."""
    from policy.differences import shown_value

    words = [f"{member}: {shown_value(was)} → {shown_value(now)}" for _, member, was, now in judged["differences"]]
    return {**judged, "differences": words or [judged["why"]]}
