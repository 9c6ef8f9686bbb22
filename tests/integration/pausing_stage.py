"""A bench whose policy lets the clock stand still while a question is open."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from policy.client import OpaEngine
from runtime.model.votes import CardAct
from tests.bench import Bench, open_bench
from tests.integration.answers_stage import say
from tests.integration.conftest import PACK, Targets
from tests.opa_server import copy_policies, kept_opa
from tests.patience import MINUTE

LONGEST = 2
"""Hours for which the clock stands still at most; a request has eight, and those next in line come after six."""


@asynccontextmanager
async def pausing_bench(dsn: str, targets: Targets, folder: Path) -> AsyncIterator[Bench]:
    """Open a bench on which the clock of high-tier writes stands still for two hours in all."""
    policies = copy_policies(folder / "rego")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    config["requirements"]["high"]["pause_on_question"] = f"PT{LONGEST}H"
    file.write_text(json.dumps(config), encoding="utf-8")
    async with (
        OpaEngine((await kept_opa(policies)).url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers()) as found,
    ):
        yield found


async def ask(bench: Bench, person: str, approval: str) -> str:
    """Ask whoever asked; return the question's id."""
    assert (await say(bench, person, approval, CardAct.ASK, "who owns it?", nonce=str(bench.clock()))).counted
    (row,) = await bench.rows("SELECT question_id FROM questions ORDER BY asked_at DESC LIMIT 1")
    return str(row["question_id"])


async def reply(bench: Bench, approval: str, question: str) -> None:
    """Answer a question, as whoever asked for it."""
    assert (await say(bench, "rita", approval, CardAct.REPLY, "the founders", about=question, nonce=question)).counted
