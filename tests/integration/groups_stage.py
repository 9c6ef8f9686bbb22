"""A chat whose policy wants one signature of each of several groups, or whatever else a test writes there."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from policy.client import OpaEngine
from runtime.engine import Routing
from tests.bench import ROUTING
from tests.integration.chat_stage import Chat, chatting
from tests.integration.conftest import Targets
from tests.opa_server import copy_policies, kept_opa
from tests.patience import MINUTE

EACH: dict[str, Any] = {"groups": ["compliance", "operators"], "all_groups": True}


@asynccontextmanager
async def policy_with(folder: Path, **high: Any) -> AsyncIterator[OpaEngine]:
    """Serve a policy whose requirement of high-tier writes has these members, too."""
    policies = copy_policies(folder / "rego")
    file = policies / "countersign_config/acme/data.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    config["requirements"]["high"].update(high)
    file.write_text(json.dumps(config), encoding="utf-8")
    async with OpaEngine((await kept_opa(policies)).url, timeout=MINUTE) as policy:
        yield policy


@asynccontextmanager
async def asking_each(
    dsn: str, targets: Targets, folder: Path, routing: Routing = ROUTING, high: Mapping[str, Any] = EACH
) -> AsyncIterator[Chat]:
    """Open a chat in which a filing wants a signature of compliance and one of operators."""
    async with policy_with(folder, **high) as policy, chatting(dsn, policy, targets, routing=routing) as running:
        yield running
