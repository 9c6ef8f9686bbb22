"""The policy in docker-compose.yml: who signs it, who serves it to OPA, and who waits for whom."""

import re
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from countersign.settings import Settings
from edge.app import build_edge
from edge.policy_bundle import ROUTE, BundleDownloads
from runtime.services.policy_bundles import PolicyBundles
from tests.unit.test_docker_compose import SERVICES, alone, filled, mounted, secrets, told

__all__ = ["secrets"]

SCRIPT: str = SERVICES["policy"]["entrypoint"][2]


def option(name: str) -> str:
    """Return what the service `policy` gives an option."""
    (found,) = re.findall(rf"{name} (\S+)", SCRIPT)
    return str(found)


def mount(service: str, volume: str) -> tuple[str, bool]:
    """Return where a volume is mounted, and whether it can be written to."""
    (parts,) = [one.split(":") for one in SERVICES[service]["volumes"] if one.startswith(f"{volume}:")]
    return parts[1], "ro" not in parts[2:]


def test_no_service_waits_for_one_that_waits_for_it() -> None:
    needs = {name: set(service.get("depends_on", ())) for name, service in SERVICES.items()}
    order = list(TopologicalSorter(needs).static_order())
    assert order.index("people") < order.index("policy") < order.index("opa") < order.index("worker")
    assert order.index("bot") < order.index("opa"), "OPA downloads from it"


def test_opa_is_configured_where_the_policy_service_writes_and_loads_nothing_else() -> None:
    folder, is_written = mount("policy", "policy")
    (file,) = re.findall(r"mv \S+ (/policy/\S+)", SCRIPT)
    assert (str(Path(file).parent), is_written) == (folder, True)
    assert f"--config-file={file}" in SERVICES["opa"]["command"]
    assert mount("opa", "policy") == (folder, False)
    assert not {"--bundle", "--watch"} & set(SERVICES["opa"]["command"])


def test_opa_downloads_from_the_front_on_a_network_that_they_share() -> None:
    url = urlsplit(option("--url"))
    assert (url.hostname, url.port) == ("bot", Settings().port)
    assert set(SERVICES["opa"]["networks"]) <= set(SERVICES["bot"]["networks"])
    assert "--role=edge" in SERVICES["bot"]["command"]
    app = build_edge(
        cast("Any", None), api=None, slack=None, bundles=BundleDownloads(PolicyBundles(cast("Any", 0)), "")
    )
    assert ROUTE in {getattr(route, "path", "") for route in app.routes}


def test_both_ends_have_the_token_and_nobody_else(
    secrets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = Path(option("--token-file")).name
    assert option("--token-file") == f"/run/secrets/{name}"
    assert [service for service in SERVICES if name in told(service)] == ["opa", "bot"]
    alone(monkeypatch, "bot")
    text = (mounted("opa", secrets, tmp_path / "opa") / name).read_text(encoding="utf-8")
    settings = Settings(_secrets_dir=mounted("bot", secrets, tmp_path / "bot"))
    assert settings.policy_token is not None
    assert settings.policy_token.get_secret_value() == text.strip()
    assert len(text.strip()) == 48


def test_workers_trust_the_key_that_the_policy_service_publishes() -> None:
    (published,) = re.findall(r"mv \S+ (/policy_key/[^\s;]+)", SCRIPT)
    assert filled(SERVICES["worker"]["environment"]["COUNTERSIGN_POLICY_KEYS"]) == f'["{published}"]'
    assert mount("policy", "policy_key") == (str(Path(published).parent), True)
    assert mount("worker", "policy_key") == (str(Path(published).parent), False)


def test_the_key_that_signs_is_where_the_policy_service_runs_and_nowhere_else() -> None:
    assert [service for service in SERVICES if "policy_signing_key" in told(service)] == ["policy"]
    assert SERVICES["policy"]["restart"] == "no"
