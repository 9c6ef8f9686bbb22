"""The configuration of an OPA that downloads the policy in force and verifies it. It holds no secret."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from policy.keys import ALGORITHM, VerificationKey

_SERVICE = "countersign"
POLLING = (1, 2)
"""Seconds between two downloads, at least and at most."""


@dataclass(frozen=True)
class BundleSource:
    """Where OPA downloads: base URL and path, and the file that holds the bearer token.

    Without a file OPA takes the token from its environment variable `variable`.
    """

    url: str
    path: str
    variable: str
    token_file: Path | None = None


def opa_config(source: BundleSource, keys: Sequence[VerificationKey]) -> str:
    """Return the configuration (YAML) of an OPA that takes only bundles signed by one of these keys."""
    return "".join(f"{line}\n" for line in _lines(source, keys))


def _lines(source: BundleSource, keys: Sequence[VerificationKey]) -> Iterator[str]:
    yield "services:"
    yield f"  {_SERVICE}:"
    yield f"    url: {json.dumps(source.url)}"
    yield f"    credentials: {{bearer: {{{_token(source)}}}}}"
    yield "bundles:"
    yield f"  {_SERVICE}:"
    yield f"    service: {_SERVICE}"
    yield f"    resource: {json.dumps(source.path)}"
    yield f"    polling: {{min_delay_seconds: {POLLING[0]}, max_delay_seconds: {POLLING[1]}}}"
    yield '    signing: {scope: ""}  # without this member OPA takes unsigned bundles, too'
    yield "keys:  # by key ID; a bundle may be signed by any of them"
    for key in {key.key_id: key for key in keys}.values():
        yield f"  {json.dumps(key.key_id)}:"
        yield f"    algorithm: {ALGORITHM}"
        yield "    key: |"
        yield from (f"      {line}" for line in key.pem().decode().splitlines())
    yield "decision_logs: {console: true}  # without this OPA gives no decision IDs, which answers need"


def _token(source: BundleSource) -> str:
    if source.token_file is not None:
        return f"token_path: {json.dumps(str(source.token_file))}"
    return f'token: "${{{source.variable}}}"'
