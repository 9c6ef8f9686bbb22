"""The group `steps`: what waits for a person, and the four ways in which it goes on."""

from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.acts import act
from countersign.cli.command import show_one
from countersign.cli.lists import show_list, table
from countersign.cli.options import AsJson, By, Page, Reason, page, run_filter, takes
from runtime.model.run import RepairAction
from runtime.model.search import RunFilter

steps = typer.Typer()

Run = Annotated[str, typer.Argument(metavar="RUN", help="Its run.")]
Step = Annotated[str, typer.Argument(metavar="STEP", help="The step's path, as `steps list` shows it.")]
Version = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER", help="The version that `steps show` printed: if somebody has acted since, nothing is done."
    ),
]

_STEP = ("run_id", "path", "version", "title", "trigger_ref", "verb", "error_code", "error", "updated_at")


@steps.command("list")
@takes(narrowed=run_filter, page=page)
def list_(*, as_json: AsJson = False, narrowed: RunFilter, page: Page) -> None:
    """List steps that need attention, those of the newest run first."""
    from countersign.cli.command import find
    from runtime.services import listings

    steps = find(listings.list_steps_needing_attention, page.limit + 1, narrowed, page.after)
    rows = [vars(step) for step in steps]
    show_list("steps", rows, page, lambda row: f"{row['run_id']}:{row['path']}", table(*_STEP), as_json=as_json)


@steps.command()
def show(run_id: Run, step: Step, *, as_json: AsJson = False) -> None:
    """Show a step that needs attention: its error and its version."""
    from countersign.cli.command import find_one
    from runtime.services import listings

    found = find_one(f"step {step} of a run {run_id}", listings.find_step, run_id, step)
    show_one(vars(found), as_json=as_json)


@steps.command()
def retry(run_id: Run, step: Step, by: By, reason: Reason, version: Version = None, *, as_json: AsJson = False) -> None:
    """Retry the step from its start."""
    _repair(run_id, step, by, RepairAction.RETRY, reason, version, done="will be retried", as_json=as_json)


@steps.command()
def supply(
    run_id: Run,
    step: Step,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file with the result as JSON.")],
    by: By,
    reason: Reason,
    version: Version = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Supply the step's result: it succeeds with it, and the record names you. Also for a step that still waits."""
    from countersign.cli.operate import expect_recordable, read_json

    result = expect_recordable(read_json(file), str(file))
    _repair(run_id, step, by, RepairAction.SUPPLY, reason, version, result, done="has its result", as_json=as_json)


@steps.command()
def skip(run_id: Run, step: Step, by: By, reason: Reason, version: Version = None, *, as_json: AsJson = False) -> None:
    """Skip the step; steps that need it and have no condition are skipped too. Also for a step that still waits."""
    _repair(run_id, step, by, RepairAction.SKIP, reason, version, done="is skipped", as_json=as_json)


@steps.command()
def end(run_id: Run, step: Step, by: By, reason: Reason, version: Version = None, *, as_json: AsJson = False) -> None:
    """End the run as failed."""
    _repair(run_id, step, by, RepairAction.END, reason, version, done="ended its run", as_json=as_json)


def _repair(
    run_id: str,
    step: str,
    by: str,
    how: RepairAction,
    reason: str,
    version: int | None,
    result: object = None,
    *,
    done: str,
    as_json: bool,
) -> None:
    from runtime.services.operator import StepRepair

    repair = StepRepair(run_id, step, how, reason, result, version)
    act(lambda desk: desk.repair_step(by, repair), f"{step} of {run_id} {done}", as_json=as_json)
