"""Reports of a backtest: Markdown for reviews, HTML to read and print, JSON for programs."""

import json
import re
from collections.abc import Iterator
from typing import Any

from policy.backtest.summary import Summary
from policy.differences import shown_value
from policy.report_page import report_page

_BACKTICKS = re.compile("`+")


def json_report(summary: Summary) -> bytes:
    """Return the JSON report."""
    return f"{json.dumps(summary.document, indent=2, ensure_ascii=False)}\n".encode()


def markdown_report(summary: Summary) -> bytes:
    """Return the Markdown report."""
    told = summary.document
    lines = ["# Backtest of a policy", "", *_about(told), "", "| class | decisions | share |", "| --- | ---: | ---: |"]
    lines += [
        f"| {one['title']} (`{one['class']}`) | {one['decisions']:,} | {_percent(one)} |" for one in told["classes"]
    ]
    for one in told["classes"]:
        lines += _examples(one)
    lines += _groups(told)
    return f"{chr(10).join(lines)}\n".encode()


def html_report(summary: Summary) -> bytes:
    """Return the HTML report."""
    filters = {"percent": _percent, "counts": _counts, "lines": lambda one: list(_lines(one, str))}
    return report_page("backtest/report", filters, {"told": summary.document, "about": _about(summary.document)})


def _about(told: dict[str, Any]) -> list[str]:
    """Return sentences about the candidate and the decisions."""
    period = f"from {told['first_at']} to {told['last_at']}" if told["decisions"] else "in this period"
    policies = len(told["policies"])
    by = f"made by {policies} {'policy' if policies == 1 else 'policies'}"
    lines = [f"Candidate {told['candidate']}.", f"{told['decisions']:,} recorded decisions {period}, {by}."]
    if told["sample"] is not None:
        lines.append(f"A sample of at most {told['sample']:,} decisions.")
    return lines


def _percent(one: dict[str, Any]) -> str:
    return f"{float(one['share']) * 100:.2f} %"


def _examples(one: dict[str, Any]) -> Iterator[str]:
    if not one["examples"]:
        return
    yield from ("", f"## {one['title']}", "")
    for example in one["examples"]:
        rules = f", {', '.join(map(_code, example['rules']))}" if example["rules"] else ""
        yield f"- {_code(example['decision_id'])} of {_code(example['run_id'])}: {_code(example['operation'])}{rules}"
        yield from (f"  - {line}" for line in _lines(example, _code))


def _lines(example: dict[str, Any], code: Any) -> Iterator[str]:
    """Yield the differences of an example; `code` formats a value."""
    if example["why"]:
        yield code(example["why"])
    for each in example["differences"]:
        yield f"{each['member']}: {code(shown_value(each['recorded']))} → {code(shown_value(each['candidate']))}"


def _code(text: str) -> str:
    """Return a text as a Markdown code span, with any content."""
    plain = " ".join(text.split())
    fence = "`" * (1 + max(map(len, _BACKTICKS.findall(plain)), default=0))
    space = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{space}{plain}{space}{fence}"


def _groups(told: dict[str, Any]) -> Iterator[str]:
    yield from ("", f"## By {told['grouped_by']}", "", "| group | decisions | of these |", "| --- | ---: | --- |")
    for one in told["groups"]:
        yield f"| {_cell(one['group'])} | {one['decisions']:,} | {_counts(one)} |"
    if told["groups_left_out"]:
        yield f"| and {told['groups_left_out']:,} more | | |"
    if told["not_replayable"]:
        whys = ", ".join(f"{_code(one['reason'])}: {one['decisions']:,}" for one in told["not_replayable"])
        yield from ("", f"Not replayable, by reason: {whys}.")


def _cell(text: str) -> str:
    return _code(text.replace("|", "\\|"))


def _counts(one: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in one["classes"].items())
