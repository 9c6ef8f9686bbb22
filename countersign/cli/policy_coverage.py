"""The command `policy coverage`: which lines of a policy recorded questions evaluate."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countersign.cli.command import Row, out, run, shared_settings, show_json, show_rows
from countersign.cli.options import AsJson, Between, between, takes
from countersign.cli.options import output as to_output
from countersign.cli.policy_options import Core, Packs, folders_of, opa_program
from countersign.cli.progress import progress_bar

if TYPE_CHECKING:
    from policy.coverage import Summary

_COLUMNS = ("file", "lines", "covered", "share")


@takes(period=between)
def coverage(
    core: Core = None,
    *,
    packs: Packs = None,
    period: Between,
    sample: Annotated[
        int, typer.Option(min=1, max=100_000, metavar="NUMBER", help="Ask a fixed sample of this many decisions.")
    ] = 500,
    output: Annotated[Path | None, to_output("FILE", "Write the report as HTML, line by line.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show which lines of a policy the recorded questions evaluate, and which rules never held.

    Calls no connector, and writes nothing but the report.
    """
    from countersign.cli.outputs import write_new
    from countersign.policy_coverage import Wish, measure
    from policy.coverage_report import about, html_report

    settings = shared_settings("database_url")
    wish = Wish(period.since, period.until, sample)
    with progress_bar() as progress:
        summary = run(measure(opa_program(), folders_of(core, packs), settings, wish, progress))
    if output is not None:
        write_new(output, html_report(summary))
    if as_json:
        show_json(summary.document)
        return
    out.print("\n".join([*about(summary), ""]))
    _show(summary)


def _show(summary: "Summary") -> None:
    from policy.coverage_report import percent

    told = summary.document
    show_rows([_row(one["file"], one, percent) for one in (*told["files"], {**told, "file": "all"})], _COLUMNS)
    if told["never_true"]:
        out.print("\nRules that never held")
        for one in told["never_true"]:
            code = f" ({one['code']})" if one["code"] else ""
            out.print(f"  {one['title'] or one['path']}{code}  {one['file']}:{one['row']}")


def _row(name: str, one: Row, percent: Callable[[str], str]) -> Row:
    return {"file": name, "lines": one["counting"], "covered": one["covered"], "share": percent(one["share"])}
