"""The commands `policy backtest` and `policy bootstrap`: recorded decisions against a candidate policy."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from countersign.cli.command import out, run, shared_settings, show_facts, show_json
from countersign.cli.options import AsJson, Between, between, takes
from countersign.cli.options import output as to_output
from countersign.cli.policy_options import Packs, folders_of, opa_program
from countersign.cli.progress import progress_bar

if TYPE_CHECKING:
    from policy.differences import DifferenceClass


@takes(period=between)
def backtest(
    *,
    candidate: Annotated[Path, typer.Option(metavar="FOLDER", help="The candidate policy.")],
    packs: Packs = None,
    period: Between,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Use a fixed sample of this many decisions.")
    ] = None,
    group: Annotated[
        Literal["rule", "operation", "tenant"],
        typer.Option(metavar="MEMBER", help="Also count by rule, operation or tenant."),
    ] = "rule",
    fail_on: Annotated[
        str, typer.Option(metavar="CLASSES", help="Classes, separated by commas, that make it exit with 1; or none.")
    ] = "deny-to-allow,approval-to-allow,no-answer",
    output: Annotated[
        Path | None, to_output("FOLDER", "Write the reports and judged decisions into a new folder.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Resume the interrupted backtest in this folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a candidate policy all recorded questions, and report the changed answers, riskiest first.

    Calls no connector and writes only the output folder. Exits with 1 if a class in --fail-on is not empty.
    """
    from countersign.backtest import Backtest, write_reports
    from countersign.candidate import vetted
    from policy.backtest.ledger import Ledger
    from policy.backtest.report import markdown_report
    from policy.backtest.summary import GroupBy

    failing = _classes(fail_on)
    if resume and (output or sample or period.since or period.until):
        raise typer.BadParameter(
            "--resume keeps period, sample and folder: leave out -o, --sample, --since and --until"
        )
    settings = shared_settings("database_url")
    asked = run(vetted(opa_program(), folders_of(candidate, packs)))
    with _folder(resume, output) as folder, progress_bar() as progress:
        one = Backtest(asked, Ledger(folder), progress)
        with _going_on(resume or output):
            run(one.resume(settings) if resume else one.begin(settings, period.since, period.until, sample))
        summary = write_reports(folder, GroupBy(group))
    if as_json:
        show_json(summary.document)
    else:
        out.print(markdown_report(summary).decode(), end="")
    raise typer.Exit(1 if any(summary.counts[one] for one in failing) else 0)


def bootstrap(
    decisions: Annotated[
        list[str],
        typer.Argument(
            metavar="DECISION...",
            help="Decisions, as for explain; or the folder of a backtest: one example of each class.",
        ),
    ],
    *,
    candidate: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="The policy that gives the expected answers. Default: COUNTERSIGN_POLICIES."
        ),
    ] = None,
    packs: Packs = None,
    output: Annotated[Path, to_output("FILE", "Write the tests into this file, for example recorded_test.rego.")],
    as_json: AsJson = False,
) -> None:
    """Generate Rego tests from recorded decisions, with the policy's current answers as expectation."""
    from countersign.backtest import examples_of
    from countersign.candidate import Candidate, confined_opa
    from countersign.cli.command import find_one
    from countersign.cli.outputs import write_new
    from policy.bootstrap import tests_of
    from policy.bundle import read_policy
    from policy.checks import formatted
    from runtime.services.listings import find_decision

    wanted = [id_ for one in decisions for id_ in (examples_of(Path(one)) if Path(one).is_dir() else [one])]
    found = [find_one(f"decision {one}", find_decision, one)["document"] for one in dict.fromkeys(wanted)]
    opa = opa_program()
    cases = Candidate(confined_opa(opa), read_policy(folders_of(candidate, packs))).cases(found)
    write_new(output, formatted(opa, tests_of(cases)).encode())
    told = {"file": str(output), "tests": [f"test_{case.decision_id}" for case in cases]}
    show_facts(told, f"{output}: {len(cases)} {'test' if len(cases) == 1 else 'tests'}", as_json=as_json)


def _classes(text: str) -> "list[DifferenceClass]":
    from policy.differences import DifferenceClass

    names = [] if text == "none" else text.split(",")
    if unknown := sorted(set(names) - set(DifferenceClass)):
        raise typer.BadParameter(f"no class {', '.join(unknown)}; there are {', '.join(DifferenceClass)}")
    return [DifferenceClass(name) for name in names]


@contextmanager
def _folder(resume: Path | None, output: Path | None) -> Iterator[Path]:
    """Give the folder of a backtest: an existing one, a new one, or a temporary one."""
    from countersign.foreseen_errors import OperateError

    if resume:
        yield resume
    elif output:
        try:
            output.mkdir()
        except OSError as error:
            raise OperateError(f"{output} cannot be made: {error.strerror}") from error
        yield output
    else:
        with TemporaryDirectory(prefix="countersign-backtest-") as made:
            yield Path(made)


@contextmanager
def _going_on(folder: Path | None) -> Iterator[None]:
    """Say how to resume an interrupted backtest."""
    from countersign.foreseen_errors import OperateError

    try:
        yield
    except KeyboardInterrupt as error:
        how = f"resume with --resume {folder} instead of -o" if folder else "use -o FOLDER to be able to resume"
        raise OperateError(f"interrupted; {how}") from error
