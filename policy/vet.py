"""Looks at a bundle before it is served, with the opa binary that will serve it."""

import asyncio
from pathlib import Path

from policy.answer import OLDEST_OPA, dotted, parse_version
from policy.text import PolicyError, strict_json

_QUERY = "data.countersign.effect"


async def vet_binary(opa: Path) -> None:
    """Raise PolicyError unless the binary is an OPA that is recent enough."""
    first = (await run_opa(opa, "version")).partition("\n")[0]
    version = parse_version(first.removeprefix("Version: "))
    if version < OLDEST_OPA:
        raise PolicyError(f"{opa}: found {first!r}, need OPA {dotted(OLDEST_OPA)} or later")


async def vet_bundle(opa: Path, bundle: Path, schemas: Path) -> None:
    """Raise PolicyError unless the bundle compiles, its entrypoint denies an empty question, and its data is whole."""
    await run_opa(opa, "check", "--strict", "--bundle", str(bundle), "--schema", str(schemas))
    printed = await run_opa(opa, "eval", "--bundle", str(bundle), "--stdin-input", "--format", "raw", _QUERY)
    package = strict_json(printed) if printed.startswith("{") else {}
    outcome = package.get("decision", {}).get("outcome")
    if outcome != "deny":
        raise PolicyError(f"{_QUERY}.decision answers an empty question with {outcome!r}, not with 'deny'")
    problems = package.get("config", {}).get("problems", [])
    if problems:
        raise PolicyError("; ".join(problems))


async def run_opa(opa: Path, *arguments: str) -> str:
    """Run one opa command on an empty object and return what it prints; raise PolicyError if it fails."""
    try:
        process = await asyncio.create_subprocess_exec(
            opa,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={},
        )
    except OSError as error:
        raise PolicyError(f"{opa}: {error.strerror}") from error
    printed, _ = await process.communicate(b"{}")
    text = printed.decode(errors="replace").strip()
    if process.returncode != 0:
        raise PolicyError(text or f"opa {arguments[0]} exits with {process.returncode}")
    return text
