"""Whatever is sent to a route of the OpenAPI document, correctly signed, is answered; no answer is a server error."""

import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from yarl import URL

from countersign.doctor.readiness import Readiness
from countersign.embedded.opa import OpaChild
from countersign.serve import make_edge, make_refusals
from edge.signing import headers
from runtime.clock import utc_now
from tests.bench import PUBLIC_URL
from tests.integration.program_stage import SECRETS, Edge, composed, database, edge_of, settings_of

CALLER = "onboarding-portal"
PROBES = {"/healthz", "/readyz"}
ODD = st.sampled_from(
    ["\x00", "\x01", "a\x00", "..", "%", "\ud7ff", "é", "🙂", "a" * 2000, "run_none", "'", "{}", "\x7f", " "]
)
TEXT = ODD | st.text(st.characters(codec="utf-8"), max_size=20)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
WORD = st.just("1") | TEXT
SENT = {
    "id": WORD,
    "ref": WORD,
    "reason": WORD,
    "text": WORD,
    "token": WORD,
    "correlation_key": WORD,
    "step": WORD,
    "on_behalf_of": st.just("rita") | TEXT,
    "as": st.just("boris") | TEXT,
    "decision": st.just("approved") | TEXT,
    "version": st.just(1) | VALUE,
    "payload": VALUE,
    "result": VALUE,
    "data": VALUE,
    "dry_run": st.booleans(),
    "name": WORD,
    "reference": WORD,
    "definition": WORD,
    "stamp": WORD,
    "type": st.just("completed"),
    "limit": VALUE,
}
"""Members of messages, most of them as they may be."""
SAID = {"id": "1", "on_behalf_of": "rita", "reason": "seen", "version": 1, "result": {}}


@pytest.fixture(scope="module")
async def stage(
    postgres: str, opa: OpaChild, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Edge, dict[str, Any], str]]:
    """Return an edge, its OpenAPI document, and a run."""
    home = tmp_path_factory.mktemp("edge")
    with database(postgres, "fuzzed") as dsn:
        given_ = settings_of(dsn, opa.url, home, public_url=PUBLIC_URL, caller_rate=1e6, caller_burst=1_000_000)
        async with composed(given_) as system, edge_of(system) as edge:
            document = make_edge(system, Readiness(system, list), make_refusals(system)).openapi()
            yield edge, document, (await edge.trigger("fuzzed")).body["run_id"]


async def ask(edge: Edge, method: str, path: str, body: bytes) -> int:
    """Send a signed request, each byte as it is; return the status."""
    signed = headers(CALLER, SECRETS[CALLER], int(utc_now().timestamp()), method, path, body)
    to = URL(f"{edge.url}{path}", encoded=True)
    async with edge.http.request(method, to, data=body or None, headers=signed) as response:
        await response.read()
        return response.status


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_no_route_answers_with_a_server_error(
    stage: tuple[Edge, dict[str, Any], str], data: st.DataObject
) -> None:
    edge, document, run_id = stage
    path = data.draw(st.sampled_from(sorted(document["paths"].keys() - PROBES)))
    method = data.draw(st.sampled_from(sorted(document["paths"][path])))
    here = {"run_id": st.just(run_id) | TEXT, "act": st.sampled_from(["supply", "retry", "skip"]) | TEXT}
    here["type_"] = st.just("kyc.onboarding") | TEXT
    whole = re.sub(r"\{(\w+)\}", lambda name: quote(data.draw(here.get(name[1], TEXT)) or "a", safe=""), path)
    query = "&".join(
        f"{quote(name)}={quote(text)}" for name, text in data.draw(st.lists(st.tuples(TEXT, TEXT), max_size=2))
    )
    said = data.draw(st.fixed_dictionaries({}, optional=SENT) | st.just(SAID) | VALUE)
    body = b"" if method == "get" else json.dumps(said).encode()
    status = await ask(edge, method.upper(), f"{whole}?{query}" if query and data.draw(st.booleans()) else whole, body)
    assert status < 500, (method, whole, body)


@pytest.mark.parametrize("odd", ["%00", "a%00", "%01", "%7F", "%C3%28", "%FF", "%2E%2E", "a" * 2000])
async def test_each_parameter_of_each_path_may_hold_anything(stage: tuple[Edge, dict[str, Any], str], odd: str) -> None:
    edge, document, run_id = stage
    for path, methods in document["paths"].items():
        for parameter in re.findall(r"\{(\w+)\}", path):
            others = {"run_id": run_id, "act": "supply", "type_": "kyc.onboarding", "path": "a"} | {parameter: odd}
            whole = path.format_map(defaultdict(lambda: "a", others))
            for method in methods:
                status = await ask(edge, method.upper(), whole, b"" if method == "get" else json.dumps(SAID).encode())
                assert status < 500, whole


async def test_each_parameter_of_each_path_of_the_api_has_a_type(stage: tuple[Edge, dict[str, Any], str]) -> None:
    _, document, _ = stage
    found = [
        (path, one["name"], one["schema"])
        for path, methods in document["paths"].items()
        if path.startswith("/v1/")  # pages for people say of any link alike that it leads nowhere
        for operation in methods.values()
        for one in operation.get("parameters", ())
    ]
    assert len(found) > 10
    assert [(path, name) for path, name, schema in found if not {"pattern", "$ref", "enum"} & schema.keys()] == []
