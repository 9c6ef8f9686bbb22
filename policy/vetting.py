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
from policy.execution_windows import zones

_TIME = "2026-01-05T10:00:00Z"
_TIERS = ("low", "medium", "high")
_WHO = ("requester", "requester_kind", "requester_groups", "agent", "runbook", "effective_from")
"""Members of a limit for which a plain question is another one."""


def listed_questions(text: PolicyText) -> list[Question]:
    """Return a question in each tier about every operation that the policy's data lists for a tenant.

    Where the tenant has limits that name who asks, or a runbook, there is one for each of them, too.
    """
    return [
        question
        for tenant, config in _tenants(text).items()
        for connector, operation, target in _listed(_members(config))
        for tier in _TIERS
        for question in _varied(sample_question(tenant, connector, operation, target, tier, _TIME), _members(config))
    ]


def _tenants(text: PolicyText) -> dict[str, Any]:
    return _members(json.loads(text.files.get(CONFIG_FILE, "{}")))


def _varied(plain: Question, config: dict[str, Any]) -> Iterator[Question]:
    """Yield the question, and for each limit of its tenant one for which that limit holds, as far as `when` says."""
    yield plain
    for limit in _members(config.get("limits")).values():
        when = _members(_members(limit).get("when"))
        is_plain = not {*when, *_members(limit)}.intersection(_WHO)
        if is_plain or plain.effect.connector not in when.get("connector", [plain.effect.connector]):
            continue
        actor = {
            "id": _first(when, "requester") or plain.actor.id,
            "kind": _first(when, "requester_kind") or plain.actor.kind,
            "groups": [group for group in (_first(when, "requester_groups"),) if group],
            "submitted_by": _first(when, "agent") or plain.actor.submitted_by,
        }
        run = plain.run.model_copy(update={"definition": _first(when, "runbook") or plain.run.definition})
        time = max(plain.time, str(limit.get("effective_from", "")))
        yield plain.model_copy(update={"actor": plain.actor.model_copy(update=actor), "run": run, "time": time})


def _first(when: dict[str, Any], member: str) -> str:
    """Return the first of the values that a condition names, "" where it names none."""
    values = when.get(member)
    return str(values[0]) if isinstance(values, list) and values else ""


def unknown_zones(text: PolicyText) -> list[str]:
    """Return a line for each time zone in the tenants' configuration that nobody knows: Rego fails over it."""
    return [
        f"{'.'.join(path)}: {zone!r} is no time zone of the IANA database, such as Europe/Zurich"
        for path, zone in _zones(_tenants(text), ())
        if zone not in zones()
    ]


def _zones(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, member in _members(value).items():
        if name == "time_zone" and isinstance(member, str):
            yield (*path, name), member
        else:
            yield from _zones(member, (*path, name))


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
    problems = [*package.get("config", {}).get("problems", []), *unknown_zones(bundle.text)]
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


_GO = {"GOGC": "400"}
"""It lives for a moment: collecting garbage early would be a third of its work. Policies can read nothing else."""


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
            env=_GO,
        )
    except OSError as error:
        raise PolicyError(f"{opa}: {error.strerror}") from error
    printed, said = [text.decode(errors="replace") for text in await process.communicate(stdin.encode())]
    if process.returncode != 0:
        raise PolicyError(f"{printed}{said}".strip() or f"opa {arguments[0]} exits with {process.returncode}")
    return printed, said
