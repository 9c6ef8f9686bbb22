"""A bench with a write of which people may edit params before they approve it, and how they do it."""

from typing import Any

from runtime.handlers import Answer, Call, JsonObject
from runtime.model.person import SlackAccount
from runtime.model.votes import Refusal
from runtime.services.editing import EditWish
from tests.bench import TEAM, Bench, Target

ASKED = {"company": "ACME", "text": "report", "copies": 10}


class Register(Target):
    """A register that says how many copies it has filed."""

    async def run(self, call: Call) -> JsonObject | Answer:
        self.default = {"copies": call.params.get("copies")}
        return await super().run(call)


async def asked(bench: Bench, ref: str = "1") -> str:
    """Start a run that asks for ten copies; return the request."""
    run_id = (await bench.start("editing.file", ASKED, ref)).run_id
    await bench.settle()
    return await request_of(bench, run_id)


async def request_of(bench: Bench, run_id: str) -> str:
    """Return the open request of a run."""
    (row,) = await bench.rows(
        "SELECT approval_id FROM approvals WHERE run_id = %s AND status = 'requested' AND kind = 'effect'", run_id
    )
    return str(row["approval_id"])


async def edit(
    bench: Bench, person: str, approval_id: str, params: dict[str, Any], *, reason: str = "too many", **other: Any
) -> Refusal | None:
    """Edit and resubmit; return why that does not count."""
    view = await bench.desk.approval(approval_id)
    wish = {
        "dedupe_key": f"{approval_id}:{person}:{params}",
        "stamp": view.stamp if view else "",
        "person_id": person,
        "refusal": None,
        "request_id": "req-edit",
        **other,
    }
    account = SlackAccount(TEAM, f"U{person.upper()}")
    desk = bench.desk.editing
    return await desk.apply(
        await desk.record(EditWish(approval_id=approval_id, params=params, reason=reason, account=account, **wish))
    )
