"""A bench of payments whose tenant has limits in its data."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from policy.client import OpaEngine
from tests.bench import Bench, Target, open_bench
from tests.opa_server import copy_policies, kept_opa
from tests.patience import MINUTE

PACK = Path(__file__).parents[1] / "packs/payments"
CONNECTOR = {
    "chat": False,
    "operations": {
        "refund": {"tier": "low", "targets": ["payment:*"]},
        "write_letter": {"tier": "low", "targets": ["customer:*"]},
    },
}
OWNERS = {
    "quorum": 1,
    "groups": ["payments-owners"],
    "all_groups": False,
    "expires_in": "P3D",
    "escalate_to": [],
}
REFUND = {"connector": ["payments"], "operation": ["refund"]}
LARGE: dict[str, Any] = {"comment": "Refunds over 1,000 EUR", "when": {**REFUND, "fields": {"amount": {"over": 1000}}}}


def limited_policies(folder: Path, limits: Mapping[str, Any], **requirements: Any) -> Path:
    """Return a copy of the policies by which the tenant has these limits, and a connector of payments."""
    policies = copy_policies(folder / "rego")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    config["connectors"]["payments"] = CONNECTOR
    config["requirements"] |= {"owners": OWNERS, **requirements}
    config["limits"] = limits
    file.write_text(json.dumps(config), encoding="utf-8")
    return policies


@asynccontextmanager
async def open_payments(
    dsn: str, folder: Path, limits: Mapping[str, Any], rego: str = "", core: str = "", **requirements: Any
) -> AsyncIterator[tuple[Bench, Target]]:
    """Open a bench on which payments have these limits, rules of a pack, or rules of the core; return both sides."""
    policies = limited_policies(folder, limits, **requirements)
    if core:
        (policies / "countersign/house.rego").write_text(core, encoding="utf-8")
    packs = [_pack(folder, rego)] if rego else []
    bank = Target()
    handlers = {
        "payments::refund": bank.handler(),
        "payments::write_letter": bank.handler(reconcile=bank.reconcile),
    }
    async with (
        OpaEngine((await kept_opa(policies, *packs)).url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], handlers) as bench,
    ):
        yield bench, bank


def _pack(folder: Path, rules: str) -> Path:
    """Return a pack with rules on the connector of payments."""
    pack = folder / "payments"
    (pack / "rego").mkdir(parents=True)
    imports = "import data.countersign.effect.reasons\n" if "reasons." in rules else ""
    (pack / "rego/payments.rego").write_text(f"{_HEAD.format(imports=imports)}{rules}", encoding="utf-8")
    return pack


_HEAD = """# METADATA
# title: Payments
# description: Who signs refunds.
# schemas:
#   - input: schema.input
package countersign_pack.payments.payments

import data.countersign.effect.conditions
{imports}
amount := conditions.number(input.effect.fields.amount)

"""


async def refund(bench: Bench, amount: str, answered_by: Any = None, ref: str = "1") -> str:
    """Ask for a refund, and do all that can be done at once; return the run."""
    asked = {"payment": f"p{ref}", "amount": amount, "currency": "EUR", "answered_by": answered_by}
    run_id = (await bench.start("payments.refund", asked, ref)).run_id
    await bench.settle()
    return run_id


async def status(bench: Bench, run_id: str) -> str:
    """Return the status of a run."""
    return str((await bench.run(run_id))["status"])


async def step_error(bench: Bench, run_id: str, step: str) -> str:
    """Return the error of a step."""
    return str((await bench.run(run_id))["steps"][step]["error"])
