"""The command line is one: rules that hold for every command that the parser knows, so that a new one keeps them.

Whatever prints facts prints JSON on demand, whatever a person does is done in their name, lists are narrowed and paged
in one way, and what is written has its name by one option. Exceptions stand here, each with its reason.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from countersign.cli.app import app
from countersign.cli.lists import keyed, show_whole, table
from countersign.cli.options import Page, run_filter, takes
from countersign.foreseen_errors import OperateError
from runtime.clock import utc_now
from runtime.model.search import RunFilter


def _leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
    for name, one in (inner or {}).items():
        yield from _leaves(one, (*path, name))


LEAVES = {" ".join(path): command for path, command in _leaves(get_command(app))}

_PRINT_NO_FACTS = {
    "up": "runs until it is stopped",
    "serve": "runs until it is stopped",
    "witness": "runs until it is stopped",
    "demo": "plays to people who watch",
    "policy shadow run": "runs until it is stopped",
    "slack manifest": "prints a document, which is YAML",
    "policy opa-config": "prints a document, which is YAML",
}

_READ = {
    *("definitions check", "definitions list", "definitions show", "definitions diff"),
    *("runs list", "runs show", "runs replay", "waits list", "waits show", "effects list", "effects show"),
    *("steps list", "steps show", "dead-letters list", "dead-letters show", "tasks list", "tasks show"),
    *("subscriptions check", "subscriptions list", "people list", "people show", "people passkeys list"),
    *("slack list", "slack manifest", "keys list", "keys export", "metrics", "config", "doctor"),
    *("log key", "log checkpoint", "log stamp", "log verify"),
    *("policy check", "policy test", "policy verify", "policy explain", "policy try", "policy backtest"),
    *("policy lint", "policy coverage"),
    *("policy bootstrap", "policy shadow show", "policy diff", "policy list", "policy show", "policy opa-config"),
    *("evidence list", "evidence approvals", "evidence exceptions", "evidence holds", "evidence verify"),
    *("evidence verify-export", "evidence report", "evidence page"),
}
"""Commands that change nothing and put nothing on record."""

_ACT_WITHOUT_A_NAME = {
    "up": "the program acts",
    "serve": "the program acts",
    "witness": "a program of somebody else",
    "demo": "people of an example act",
    "case": "callers of an example act",
    "migrate": "comes before there is a directory or a record, and is for all tenants: the owner's login is who did it",
    "bucket": "is about a store, whose own log tells who did it",
    "slack new-key": "changes nothing until it is set",
    "policy fmt": "changes files; who serves them is on record",
    "policy shadow run": "only looks; what it finds is on record",
    "policy build": "writes a file; who serves it is on record",
    "policy install": "comes before anybody could sign: the program brings the first version, on record as its act",
    "people import": "changes a file; who loads it is on record",
    "people add": "changes a file; who loads it is on record",
    "people remove": "changes a file; who loads it is on record",
}

_LISTS = {"evidence list", "evidence holds", *(path for path in LEAVES if path.endswith(" list"))}
_OF_RUNS = {"runs list", "waits list", "effects list", "steps list", "tasks list", "evidence list"}
_BY_RUNS = {"--reference", "--requester", "--trigger", "--definition", "--since", "--until"}
_WITHOUT_MOMENTS = {
    "people list": "who is in the directory now",
    "subscriptions list": "what a file says now",
    "slack list": "each has a beginning or an end",
    "keys list": "a register of few lines, which is read whole",
}
_STATUSES = {"runs list", "waits list", "effects list", "dead-letters list", "definitions list", "policy list"}
_WRITE = {
    *(
        "evidence export",
        "evidence get",
        "evidence report",
        "evidence page",
        "keys export",
        "log stamp",
        "policy backtest",
        "policy bootstrap",
        "policy build",
        "policy coverage",
        "policy opa-config",
    ),
}


def _options(path: str) -> dict[str, Any]:
    """Return a command's options, each by all of its names."""
    named = LEAVES[path].params
    return {name: one for one in named if one.param_type_name == "option" for name in one.opts}


_ALL = pytest.mark.parametrize("path", LEAVES)


@_ALL
def test_whatever_prints_facts_prints_json_if_that_is_said(path: str) -> None:
    assert ("--json" in _options(path)) != (path in _PRINT_NO_FACTS)


@_ALL
def test_whatever_a_person_does_is_done_in_their_name(path: str) -> None:
    assert ("--as" in _options(path)) + (path in _READ) + (path in _ACT_WITHOUT_A_NAME) == 1


@pytest.mark.parametrize("path", sorted(_LISTS))
def test_a_list_has_pages(path: str) -> None:
    assert {"--limit", "--after", "--json"} <= _options(path).keys()


@pytest.mark.parametrize("path", sorted(_OF_RUNS))
def test_a_list_of_what_belongs_to_runs_is_narrowed_by_runs(path: str) -> None:
    assert _options(path).keys() >= _BY_RUNS


@pytest.mark.parametrize("path", sorted(_LISTS))
def test_a_list_of_what_came_at_some_moment_is_narrowed_by_moments(path: str) -> None:
    assert ({"--since", "--until"} <= _options(path).keys()) != (path in _WITHOUT_MOMENTS)


@pytest.mark.parametrize("path", sorted(_STATUSES))
def test_what_is_listed_in_several_statuses_is_narrowed_by_them(path: str) -> None:
    assert "--status" in _options(path)


@_ALL
def test_what_a_command_writes_is_named_by_one_option_that_overwrites_nothing(path: str) -> None:
    found = _options(path).get("--output")
    assert (found is not None) == (path in _WRITE)
    assert found is None or (found.opts, found.help.endswith("Nothing is overwritten.")) == (["-o", "--output"], True)


@pytest.mark.parametrize("name", ["--json", "--as", "--limit", "--after", *sorted(_BY_RUNS)])
def test_an_option_of_all_lists_and_acts_says_the_same_everywhere(name: str) -> None:
    others = {"--as": {"trigger", "runs trigger"}}.get(name, set())  # there the person asks, and an agent acts
    by_runs = [path for path in LEAVES if name not in _BY_RUNS or "--requester" in _options(path)]
    said = [one.help for path in by_runs if path not in others and (one := _options(path).get(name))]
    assert len(said) > 1
    assert len(set(said)) == 1


@pytest.mark.parametrize("name", ["trigger", "cancel", "undo", "retry"])
def test_a_short_form_is_the_command_itself(name: str) -> None:
    short, whole = LEAVES[name], LEAVES[f"runs {name}"]
    assert [one.opts for one in short.params] == [one.opts for one in whole.params]
    assert short.callback.__wrapped__ is whole.callback.__wrapped__
    assert f"Short for `runs {name}`." in short.help


def test_what_is_not_done_daily_stands_at_its_noun_alone() -> None:
    assert {"replay", "signal"}.isdisjoint(LEAVES)
    assert {"runs replay", "runs signal"} <= LEAVES.keys()


def _given(*words: str) -> RunFilter:
    told: list[RunFilter] = []
    ruled = typer.Typer()

    @ruled.command()
    @takes(narrowed=run_filter)
    def look(narrowed: RunFilter) -> None:
        told.append(narrowed)

    ended = CliRunner().invoke(ruled, words)
    assert ended.exit_code == 0, ended.output
    return told[0]


def test_a_day_is_whole_a_moment_is_utc_and_a_duration_is_so_long_ago() -> None:
    day = _given("--since", "2026-02-01", "--until", "2026-02-01")
    assert (day.since, day.until) == (datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC))
    moment = _given("--since", "2026-02-01T18:00:00", "--until", "2026-02-01T20:00:00+01:00")
    assert (moment.since, moment.until) == (
        datetime(2026, 2, 1, 18, tzinfo=UTC),
        datetime(2026, 2, 1, 19, tzinfo=UTC),
    )
    ago = _given("--since", "P7D").since
    assert ago is not None
    assert timedelta(0) <= utc_now() - timedelta(days=7) - ago < timedelta(minutes=1)


@pytest.mark.parametrize("when", ["yesterday", "2026-02-30", "P", "P9999999D", "", "9999-12-31"])
def test_what_is_no_time_is_refused(when: str) -> None:
    ended = CliRunner().invoke(app, ["runs", "list", "--until", when])
    assert (ended.exit_code, "is no day, moment or duration" in " ".join(ended.output.split())) == (2, True)


def test_a_short_list_goes_on_behind_a_row_that_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    def page(after: str | None) -> Any:
        rows = [{"id": name} for name in "abc"]
        show_whole("rows", rows, Page(2, after), keyed("id"), table("id"), as_json=True)
        return json.loads(capsys.readouterr().out)

    assert page(None) == {"rows": [{"id": "a"}, {"id": "b"}], "next": "b"}
    assert page("b") == {"rows": [{"id": "c"}], "next": None}
    assert page("c") == {"rows": [], "next": None}
    with pytest.raises(OperateError, match="there is no d in this list"):
        page("d")
