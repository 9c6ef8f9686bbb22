"""The report of a coverage as HTML, to read and print."""

from typing import Any

from policy.coverage import Summary
from policy.report_page import report_page

_MARKS = {"": "", "yes": "✓", "no": "✗", "partly": "△"}


def html_report(summary: Summary) -> bytes:
    """Return the HTML report."""
    listed = [_listed(one, summary) for one in summary.document["files"]]
    values = {"told": summary.document, "about": about(summary), "listed": listed}
    return report_page("coverage_report", {"percent": percent}, values)


def about(summary: Summary) -> list[str]:
    """Return sentences about the policy and the questions."""
    told = summary.document
    lines = [
        f"Policy {told['policy']}.",
        f"{told['questions']:,} recorded questions were asked, a sample of at most {told['sample']:,}.",
    ]
    if told["failed"]:
        lines.append(f"The policy fails over {told['failed']:,} of them, which count nowhere.")
    if told["not_replayable"]:
        lines.append(f"{told['not_replayable']:,} decisions hold no question that can be asked again.")
    if told["not_asked"]:
        lines.append(f"Not asked by any decision, and not counted: {', '.join(told['not_asked'])}.")
    return lines


def percent(share: str) -> str:
    """Return a share in percent."""
    return f"{float(share) * 100:.1f} %"


def _listed(file: dict[str, Any], summary: Summary) -> dict[str, Any]:
    """Return a file with each of its lines: `questions` is None on a line that does not count."""
    counts = {one["row"]: one["questions"] for one in file["lines"]}
    heads = {one["row"] for one in summary.document["never_true"] if one["file"] == file["file"]}
    numbered = enumerate(summary.text.files[file["file"]].rstrip("\n").split("\n"), 1)
    lines = [_line(row, counts.get(row), line, is_never_true=row in heads) for row, line in numbered]
    return {**file, "text": lines}


def _line(row: int, questions: int | None, line: str, *, is_never_true: bool) -> dict[str, Any]:
    kind = "" if questions is None else "no" if not questions else "partly" if is_never_true else "yes"
    return {"row": row, "questions": questions, "line": line, "kind": kind, "mark": _MARKS[kind]}
