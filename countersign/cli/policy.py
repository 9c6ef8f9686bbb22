"""The group `policy`: check, test, format, sign, propose and activate policies; explain a decision; try an answer."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countersign.cli.command import Row, attached_settings, out, own_settings, run, show_json
from countersign.cli.options import AsJson
from countersign.cli.policy_backtest import backtest, bootstrap
from countersign.cli.policy_bundles import build, verify
from countersign.cli.policy_coverage import coverage
from countersign.cli.policy_diff import diff
from countersign.cli.policy_install import install
from countersign.cli.policy_lint import lint
from countersign.cli.policy_opa import opa_config
from countersign.cli.policy_options import Core, Packs, folders_of, opa_program
from countersign.cli.policy_shadow import shadow
from countersign.cli.policy_versions import activate, list_, propose, rollback, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policy.contract import Question
    from runtime.model.person import Person

policy = typer.Typer()

policy.command()(lint)
policy.command()(coverage)
policy.command()(backtest)
policy.command()(bootstrap)
policy.command()(diff)
policy.add_typer(shadow, name="shadow", help="Run a candidate policy beside the one in force.")
policy.command()(build)
policy.command()(verify)
policy.command()(install)
policy.command("opa-config")(opa_config)
policy.command()(propose)
policy.command()(activate)
policy.command()(rollback)
policy.command("list")(list_)
policy.command()(show)


@policy.command()
def check(core: Core = None, *, packs: Packs = None, as_json: AsJson = False) -> None:
    """Check a policy: format, strict compilation, tests and their coverage, METADATA, and what it answers.

    Exits with 1 if anything is wrong, and names each fault by file and line.
    """
    from countersign.settings import ROOT
    from policy.checks import faults_in

    folders = folders_of(core, packs)
    faults = faults_in(opa_program(), folders, ROOT / "rego/meta.rego")
    if as_json:
        show_json({"faults": faults})
    else:
        out.print("\n".join(faults) or f"{folders.core}: policies are in order")
    raise typer.Exit(1 if faults else 0)


@policy.command("test")
def run_tests(
    core: Core = None,
    *,
    packs: Packs = None,
    run_: Annotated[str | None, typer.Option("--run", metavar="REGEX", help="Only tests whose names match.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Name each test, and show traces of failures.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the tests of a policy, those of its packs with it. Exits with 1 if one fails."""
    from policy import checks

    wanted = [*(["--run", run_] if run_ else []), *(["--verbose"] if verbose else [])]
    code, said = checks.run_tests(opa_program(), folders_of(core, packs), wanted)
    if as_json:
        show_json({"passed": code == 0, "printed": said.splitlines()})
    else:
        out.print(said)
    raise typer.Exit(1 if code else 0)


@policy.command()
def fmt(core: Core = None, *, packs: Packs = None, as_json: AsJson = False) -> None:
    """Format a policy's files in place, and name those that changed."""
    from policy.checks import format_files

    changed = [str(file) for file in format_files(opa_program(), folders_of(core, packs))]
    if as_json:
        show_json({"formatted": changed})
    else:
        out.print("\n".join(changed) or "nothing to format")


@policy.command()
def explain(
    id_: Annotated[
        str,
        typer.Argument(
            metavar="DECISION", help="Its id; or that of an approval, an effect or a run: the last decision on that."
        ),
    ],
    *,
    edit: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the policy as it was, and the question, into a new folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain a decision: ask the text that gave it again, and name the rules behind it, and those that came near."""
    from countersign.cli.policy_view import decision_lines
    from policy.explain import explain as asked_again
    from policy.trial import rules_of

    found = _decision(id_)
    if edit is not None:
        out.print(_write_case(edit, found))
        return
    explanation = run(asked_again(opa_program(), found["files"], found["document"]["input"]))
    if as_json:
        said = {"decision": found["document"], "version": found["version"]}
        show_json({**said, "asked_again": explanation.answer, "rules": rules_of(explanation)})
    else:
        out.print("\n".join(decision_lines(found, explanation)))


@policy.command("try")
def try_(
    question: Annotated[
        str | None,
        typer.Argument(
            metavar="QUESTION",
            help="A file of JSON, - for standard input, or as for explain. Default, on a terminal: a form.",
        ),
    ] = None,
    *,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Change a member first: effect.fields.amount=900."),
    ] = None,
    candidate: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The policy to ask. Default: COUNTERSIGN_POLICIES.")
    ] = None,
    packs: Packs = None,
    as_json: AsJson = False,
) -> None:
    """Try what a policy answers to a question, why, and who could sign it now. Nothing is kept, and nothing leaves."""
    from countersign.cli.policy_view import answer_lines, trial_json
    from policy.bundle import read_policy
    from policy.explain import explain as asked
    from policy.trial import fault_of, parse_question, with_changes

    text = read_policy(folders_of(candidate, packs))
    document = _question(question) if question is not None else _form(as_json=as_json)
    wanted = parse_question(with_changes(document, changes or []))
    explanation = run(asked(opa_program(), text.files, wanted.model_dump(mode="json")))
    fault = fault_of(explanation, wanted)
    signers = None if fault else _signers(explanation.answer["requirement"], wanted)
    if as_json:
        show_json(trial_json(text.digest, explanation, fault, signers))
    else:
        out.print("\n".join(answer_lines(text.digest, wanted, explanation, fault, signers)))


def _form(*, as_json: bool) -> Any:
    """Return the question that a person at a terminal puts together; raise BadParameter where there is nobody."""
    from countersign.cli.policy_form import ask_for_question
    from runtime.clock import utc_now

    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise typer.BadParameter("missing: name a file, - or a decision; only a terminal shows a form")
    return ask_for_question(own_settings().tenant, utc_now())


def _signers(requirement: Row | None, question: "Question") -> "Sequence[Person] | None":
    """Return who could sign now, None where nobody has to, or no database is there to say so."""
    from countersign.connection import DatabaseError, looked_up
    from runtime.clock import utc_now
    from runtime.services.signers import signers_of

    settings, _ = attached_settings()
    if requirement is None or settings.database_url is None:
        return None
    barred = (question.actor.id, question.actor.submitted_by)
    try:
        return run(looked_up(settings, signers_of, requirement, barred, utc_now()))
    except DatabaseError:  # a trial needs none
        return None


def _decision(id_: str) -> Row:
    from countersign.cli.command import find_one
    from runtime.services import listings

    return find_one(f"decision {id_}", listings.find_decision, id_)


def _question(named: str) -> Any:
    """Return the question of a file, of standard input, or of a decision."""
    from countersign.foreseen_errors import OperateError
    from policy.bundle import strict_json

    file = Path(named)
    if named != "-" and not file.is_file():
        return _decision(named)["document"]["input"]
    try:
        return strict_json(sys.stdin.buffer.read() if named == "-" else file.read_bytes())
    except ValueError as error:
        raise OperateError(f"{'standard input' if named == '-' else named} is no JSON: {error}") from error


def _write_case(folder: Path, found: Row) -> str:
    """Write a decision's policy and question into a new folder, and return how to ask OPA."""
    from countersign.foreseen_errors import OperateError
    from policy.bundle import write_files

    if folder.exists() and any(folder.iterdir()):
        raise OperateError(f"{folder} is not empty; name a new folder")
    question = json.dumps(found["document"]["input"], indent=2, ensure_ascii=False)
    write_files(folder, {**found["files"], "input.json": f"{question}\n"})
    return f"opa eval --bundle {folder} --input {folder / 'input.json'} data.countersign.effect.decision"
