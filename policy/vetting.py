"""Vetting of a bundle before it is served, with the opa binary that will serve it.

It is asked sample questions, which nobody has: one for each operation that the policy lists, to see whether the answer
is one.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from policy.answer import OLDEST_OPA, dotted, parse_answer, parse_version
from policy.bundle import CONFIG_FILE, Bundle, strict_json
from policy.contract import PolicyText, PolicyUnavailableError, Question
from policy.errors import PolicyError

_TIME = "2026-01-05T10:00:00Z"
_TIERS = ("low", "medium", "high")


def listed_questions(text: PolicyText) -> list[Question]:
    """Return a question in each tier about every operation that the policy's data lists for a tenant."""
    tenants = _members(json.loads(text.files.get(CONFIG_FILE, "{}")))
    return [
        sample_question(tenant, connector, operation, target, tier, _TIME)
        for tenant, config in tenants.items()
        for connector, operation, target in _listed(_members(config))
        for tier in _TIERS
    ]


def _listed(config: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for connector, entry in _members(config.get("connectors")).items():
        for operation, listed in _members(_members(entry).get("operations")).items():
            for pattern in (_members(listed).get("targets") or ())[:1]:
                yield connector, operation, str(pattern).replace("**", "1").replace("*", "1")


def _members(value: Any) -> dict[str, Any]:
    """Return a mapping's members; data that is no mapping has none, and is the data's own problem."""
    return value if isinstance(value, dict) else {}


def sample_question(tenant: str, connector: str, operation: str, target: str, tier: str, time: str) -> Question:
    """Return a question whose answer does not matter, as long as it is one."""
    return Question.model_validate(
        {
            "time": time,
            "tenant": tenant,
            "actor": {"id": "nobody", "kind": "system", "groups": [], "submitted_by": "nobody"},
            "run": {"id": "none", "definition": "none", "version": 1, "trigger_type": "none"},
            "step": "",
            "effect": {
                "connector": connector,
                "operation": operation,
                "target": target,
                "fields": {},
                "tier": tier,
                "reversible": False,
                "digest": "0" * 64,
            },
            "approval": None,
            "votes": [],
            "counters": {"writes": 0},
        }
    )


def describe_question(question: Question) -> str:
    """Say what a question is about."""
    return f"{question.tenant}: {question.effect.connector}::{question.effect.operation}"


_PACKAGE = "data.countersign.effect"
UNDEFINED = "policy.undefined"
"""The reason of core's default decision, which stands where something in the decision is undefined."""
_EACH = f"{_PACKAGE}.decisions"


async def vet_binary(opa: Path) -> None:
    """Raise PolicyError unless the binary is an OPA that is recent enough."""
    first = (await run_opa(opa, "version")).partition("\n")[0]
    version = parse_version(first.removeprefix("Version: "))
    if version < OLDEST_OPA:
        raise PolicyError(f"{opa}: found {first!r}, need OPA {dotted(OLDEST_OPA)} or later")


async def vet_bundle(opa: Path, bundle: Bundle, file: Path, schemas: Path) -> None:
    """Raise PolicyError unless `file`, which holds the bundle, is fit to be served.

    1. It compiles.
    2. An empty question is denied.
    3. The data of every tenant is whole.
    4. For every tenant each listed operation is asked about, and the answer is one.
    """
    await run_opa(opa, "check", "--strict", "--bundle", str(file), "--schema", str(schemas))  # 1
    printed = await run_opa(opa, "eval", "--bundle", str(file), "--stdin-input", "--format", "raw", _PACKAGE)
    package = strict_json(printed) if printed.startswith("{") else {}
    outcome = package.get("decision", {}).get("outcome")
    if outcome != "deny":  # 2
        raise PolicyError(f"{_PACKAGE}.decision answers an empty question with {outcome!r}, not with 'deny'")
    problems = package.get("config", {}).get("problems", [])
    if problems:  # 3
        raise PolicyError("; ".join(problems))
    questions = listed_questions(bundle.text)
    if wrong := list(_wrong(questions, await ask_each(opa, file, questions))):  # 4
        raise PolicyError("; ".join(wrong))


async def ask_each(opa: Path, bundle: Path, questions: Sequence[Question]) -> dict[int, object]:
    """Return what the bundle answers, by the question's place; an undefined answer has none."""
    asked = f"[{','.join(question.model_dump_json() for question in questions)}]"
    arguments = ("--bundle", str(bundle), "--stdin-input", "--strict-builtin-errors", "--format", "raw")
    printed = await run_opa(opa, "eval", *arguments, _EACH, stdin=asked)
    return {int(place): answer for place, answer in strict_json(printed).items()}


def _wrong(questions: Sequence[Question], answers: dict[int, object]) -> Iterator[str]:
    """Yield for each operation the first thing that is wrong with an answer about it."""
    told: set[str] = set()
    for place, question in enumerate(questions):
        fault = _fault(answers.get(place))
        if fault and describe_question(question) not in told:
            told.add(describe_question(question))
            yield f"{describe_question(question)}: {fault}"


def _fault(document: object) -> str:
    try:
        answer = parse_answer(document, "answer")
    except PolicyUnavailableError as error:
        return str(error)
    undefined = any(reason.code == UNDEFINED for reason in answer.reasons)
    return f"no rule answers, so it would be denied ({UNDEFINED})" if undefined else ""


async def run_opa(opa: Path, *arguments: str, stdin: str = "{}") -> str:
    """Run one opa command, on an empty object unless told otherwise, and return what it prints; raise PolicyError."""
    return "".join(await opa_prints(opa, *arguments, stdin=stdin)).strip()


async def opa_prints(opa: Path, *arguments: str, stdin: str = "{}") -> tuple[str, str]:
    """Return what one opa command prints, and what it says beside that; raise PolicyError with both."""
    try:
        process = await asyncio.create_subprocess_exec(
            opa,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={},
        )
    except OSError as error:
        raise PolicyError(f"{opa}: {error.strerror}") from error
    printed, said = [text.decode(errors="replace") for text in await process.communicate(stdin.encode())]
    if process.returncode != 0:
        raise PolicyError(f"{printed}{said}".strip() or f"opa {arguments[0]} exits with {process.returncode}")
    return printed, said
