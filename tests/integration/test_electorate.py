"""Who may answer which requests: one SQL fragment says of all requests what the rules say of one."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row

from runtime.model.search import ListFilter
from runtime.model.votes import Refusal, RefusalCode
from runtime.services.ballots import way_to_decide
from runtime.services.metrics import find_metrics
from runtime.store.database.pool import Conn
from runtime.store.request_lists import SoughtTasks, Viewer, find_tasks, find_waiting
from tests.bench import TEAM, TENANT, Bench

LOOKING = ("rita", "ann", "ben", "sue", "sam", "nobody", "portal-bot")
PEOPLE = st.sampled_from(["rita", "ann", "sue", "sam", "portal-bot"])
GROUPS = st.lists(st.sampled_from(["compliance", "senior-compliance", "security"]), max_size=2, unique=True)
OFTEN = st.sampled_from([["compliance"], ["compliance"], ["senior-compliance"], ["compliance", "security"], []])
DELEGATIONS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "ann", "sue", "rita"]),
        st.sampled_from(["sam", "sam", "ben"]),
        st.sampled_from(["omar", "omar", "rita", "ann"]),
        OFTEN,
        st.sampled_from([-1, 1, 1, 1]),
    ),
    max_size=3,
)
"""Of each: its delegator, its delegate and by whom it was recorded; the groups; and in how many hours it ends."""
ANN_TO_SAM = ("ann", "sam", "omar", ["compliance"], 1)
PLAIN: dict[str, Any] = {
    "asked": ["compliance"],
    "excluded": [],
    "joined": [],
    "requester": "rita",
    "requester_accounts": [],
    "hours": 1,
    "kind": "task",
    "assignee": None,
    "status": "requested",
    "votes": [],
    "delegations": [ANN_TO_SAM],
}
CASES: list[dict[str, Any]] = [
    {},
    {"excluded": ["omar"]},
    {"requester": "omar"},
    {"excluded": ["ann"]},
    {"requester": "ann"},
    {"requester_accounts": ["ann"]},
    {"votes": [("ann", "ann")]},
    {"votes": [("cat", "ann")]},
    {"votes": [("cat", "sam")]},
    {"delegations": [("ann", "sam", "omar", ["compliance"], -1)]},
    {"delegations": [("ann", "sam", "omar", ["security"], 1)]},
    {"delegations": [("ann", "ben", "omar", ["compliance"], 1)], "assignee": "ann"},
    {"assignee": "ann"},
    {"assignee": "portal-bot"},
    {"assignee": "ann", "delegations": [("ann", "sam", "omar", [], 1), ("ben", "sam", "omar", ["compliance"], 1)]},
    {"hours": -1},
    {"hours": -1, "kind": "in_doubt"},
    {"hours": -1, "prolonged": 1},
    {"hours": -2, "prolonged": -1},
    {"asked": [], "joined": ["compliance"]},
]
"""What differs from the plain case."""


@pytest.fixture
async def conn(bench: Bench) -> AsyncIterator[Any]:
    """Give a connection that may do all, of a bench with one open request."""
    await bench.review()
    async with await Conn.connect(bench.superuser, row_factory=dict_row) as superuser:
        yield superuser


async def test_each_rule_of_voting_holds_in_lists(bench: Bench, conn: Any) -> None:
    for case in CASES:
        await _expect_agreement(bench, conn, PLAIN | case)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    asked=OFTEN,
    excluded=st.lists(PEOPLE, max_size=1),
    joined=GROUPS,
    requester=PEOPLE,
    requester_accounts=st.lists(PEOPLE, max_size=1),
    hours=st.sampled_from([1, 1, 1, -1]),
    kind=st.sampled_from(["effect", "in_doubt", "task", "task"]),
    assignee=st.sampled_from([None, "ann", "sue", "gone", "portal-bot"]),
    status=st.sampled_from(["requested"] * 5 + ["approved"]),
    votes=st.lists(st.tuples(PEOPLE, PEOPLE), max_size=2, unique_by=(lambda vote: vote[0], lambda vote: vote[1])),
    delegations=DELEGATIONS,
)
async def test_what_waits_for_a_person_is_what_the_rules_let_them_decide(bench: Bench, conn: Any, **case: Any) -> None:
    await _expect_agreement(bench, conn, case)


async def _expect_agreement(bench: Bench, conn: Any, case: dict[str, Any]) -> None:
    """Lists, reviews of callers, and metrics say of all requests what the rules say of one."""
    now = bench.clock()
    async with conn.transaction(force_rollback=True):
        await _make_so(conn, now, case)
        [row] = await (await conn.execute("SELECT approval_id FROM approvals")).fetchall()
        metrics = await find_metrics(conn, TENANT, now, now, now)
        counted = {one.person: one.waiting for one in metrics.people}
        for person in LOOKING:
            way = await way_to_decide(conn, TENANT, row["approval_id"], person, now)
            code = way.code if isinstance(way, Refusal) else None
            may = person in counted and code is None
            rows = await find_waiting(conn, Viewer(TENANT, person, now), ListFilter(), None, 10)
            assert (bool(rows), counted.get(person, 0)) == (may, int(may)), (case, person, way)
            tasks = await find_tasks(conn, TENANT, SoughtTasks(person=person), now)
            may_later = may or (person in counted and code is RefusalCode.CLAIMED)
            assert bool(tasks) == (case["kind"] == "task" and may_later), (case, person, way)


async def _make_so(conn: Any, now: Any, case: dict[str, Any]) -> None:
    await conn.execute("SET LOCAL session_replication_role = replica")  # what is made up here stands by itself
    changes = {"groups": case["asked"], "exclude": case["excluded"]}
    await conn.execute(
        "UPDATE approvals SET kind = %s, assignee = %s, status = %s, joined = %s, expires_at = %s,"
        " prolonged_until = %s, requirement = (requirement::jsonb || %s::jsonb)::json",
        (
            *(case["kind"], case["assignee"] if case["kind"] == "task" else None, case["status"]),
            *(json.dumps(case["joined"]), now + timedelta(hours=case["hours"])),
            now + timedelta(hours=case["prolonged"]) if "prolonged" in case else None,
            json.dumps(changes),
        ),
    )
    accounts = [f"U{name.upper()}" for name in case["requester_accounts"]]
    await conn.execute(
        "UPDATE runs SET requested_by = %s, requester_accounts ="
        " (SELECT coalesce(json_agg(json_build_array(%s::text, u)), '[]') FROM unnest(%s::text[]) AS u)",
        (case["requester"], TEAM, accounts),
    )
    for person, account in case["votes"]:
        await conn.execute(
            "INSERT INTO votes SELECT approval_id, %s, '', '[]', 'approve', '', %s, %s, %s, %s FROM approvals",
            (person, TEAM, f"U{account.upper()}", f"ntf_{person}", now),
        )
    await conn.execute("UPDATE actors SET groups = %s WHERE actor_id = 'portal-bot'", ('["compliance"]',))
    for number, (delegator, delegate, by, groups, hours) in enumerate(case["delegations"]):
        await conn.execute(
            "INSERT INTO delegations VALUES (%s, %s, %s, %s, %s, %s, %s, %s, '', %s)",
            (
                *(f"dlg_{number}", TENANT, delegator, delegate, json.dumps(groups)),
                *(now - timedelta(hours=2), now + timedelta(hours=hours), by, now),
            ),
        )
