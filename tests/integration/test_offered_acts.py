"""What one person may do with requests now, as the Home offers it: read for all of them at once."""

import itertools
import json
from dataclasses import replace
from datetime import timedelta

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.services.request_actions import RequestActions
from tests.bench import TENANT, open_bench
from tests.integration.conftest import PACK, Targets
from tests.integration.counting import Counting
from tests.integration.delegates_stage import delegate
from tests.patience import MINUTE


async def test_what_a_person_may_do_with_many_requests_costs_as_many_statements_as_with_one(
    dsn: str, opa: OpaChild, targets: Targets
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers(), cursor_factory=Counting) as bench,
    ):
        await delegate(bench, "ann", "sam")
        for number in range(8):
            await bench.start("bench.file", {"company": "ACME", "text": "r"}, ref=f"{number}")
        await bench.settle()
        ids = [row["approval_id"] for row in await bench.rows("SELECT approval_id FROM approvals ORDER BY 1")]
        glass = {"groups": ["compliance"], "at_most": 3, "within": "P30D", "tell": [], "review_by": ["security"]}
        await bench.meddle(
            "UPDATE approvals SET requirement = (requirement::jsonb || %s::jsonb)::json",
            json.dumps({"break_glass": glass | {"review_within": "P1D"}}),
        )
        moments = itertools.count()  # time goes on meanwhile
        engine = replace(bench.engine, clock=lambda: bench.clock() + timedelta(microseconds=next(moments)))
        for person in ("ben", "sam", "rita"):
            counts = []
            for some in (ids[:1], ids):
                Counting.sent = 0
                acts = await RequestActions(engine, TENANT).acts_of_all(some, person)
                counts.append(Counting.sent)
                assert len(set(acts)) == 1
            assert counts[0] == counts[1] <= 12
        homes = []
        for limit in (1, 8):
            Counting.sent = 0
            assert len((await bench.pending("sam", limit)).page.entries) == limit
            homes.append(Counting.sent)
        assert homes[0] == homes[1]
