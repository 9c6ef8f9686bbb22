"""Foreign Rego is confined: what takes too much time or memory, or prints too much, is ended with one clear error."""

import asyncio
import os
import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from countersign.candidate import confined_opa
from evidence.replay import AskingError
from policy.bundle import read_policy
from policy.confined import FRONT, MIB, NoOpaError, confined
from policy.errors import PolicyError
from policy.explain import Explanation, explain
from policy.vetting import sample_question
from tests.opa_server import SHIPPED, opa_program
from tests.patience import MINUTE, until

TEXT = read_policy(SHIPPED).files
LIMITS = "countersign/limits.rego"
QUESTION = sample_question("acme", "register", "file_report", "register:1", "high", "2026-01-05T10:00:00Z")
PATIENT = replace(FRONT, seconds=int(MINUTE), overall=3 * MINUTE, near=MINUTE)
"""The bounds of a front, on a machine that may be busy."""
RANGE = "numbers.range(1, 3000)"
ENDLESS = f"some a in {RANGE}; some b in {RANGE}; some c in {RANGE}; a * b * c == -1"


def hostile(conditions: str, beside: str = "") -> dict[str, str]:
    """Return the policies with a rule whose conditions are hostile, and which each question asks for."""
    rule = f"\ndeny contains reasons.of(rego.metadata.rule()) if {{\n\t{conditions}\n}}\n{beside}"
    return {**TEXT, LIMITS: f"{TEXT[LIMITS]}\n# METADATA\n# title: Hostile{rule}"}


async def asked(files: dict[str, str], **bounds: Any) -> Explanation:
    return await explain(opa_program(), files, QUESTION.model_dump(mode="json"), replace(PATIENT, **bounds))


def children() -> set[int]:
    """Return the processes that this one has started and not taken up the end of."""
    found = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {int(pid) for file in found for pid in file.read_text(encoding="ascii").split()}


async def test_a_policy_that_takes_memory_without_end_is_ended() -> None:
    texts = f'count([sprintf("%d %d {"a" * 100}", [a, b]) | some a in {RANGE}; some b in {RANGE}]) > 0'
    with pytest.raises(PolicyError, match=r"^the policy needs more than 256 MiB of memory$"):
        await asked(hostile(texts))


async def test_a_policy_that_prints_without_end_is_ended() -> None:
    with pytest.raises(PolicyError, match=r"^the policy prints more than 256 KiB$"):
        await asked(hostile(f"some a in {RANGE}\n\tsome b in {RANGE}\n\tprint(a, {RANGE})\n\ta * b < 0"))


async def test_a_policy_whose_answer_is_too_long_is_ended() -> None:
    files = {name: text for name, text in TEXT.items() if name != "countersign/decision.rego"}
    long = f'[text | some a in {RANGE}; text := sprintf("%d {"a" * 1000}", [a])]'
    files["countersign/decision.rego"] = f"package countersign.effect\n\ndecision := {long}\n"
    with pytest.raises(PolicyError, match=r"^the policy prints more than 1024 KiB$"):
        await asked(files, printed=MIB)


@pytest.mark.parametrize(
    ("bounds", "error"),
    [
        ({"seconds": 1}, "the policy needs more than 1 s of CPU time"),
        ({"overall": 1.0}, "the policy is not explained within 1 s"),
    ],
    ids=["one evaluation", "all together"],
)
async def test_a_policy_that_comes_to_no_end_is_ended(bounds: dict[str, Any], error: str) -> None:
    before = children()
    with pytest.raises(PolicyError, match=f"^{error}$"):
        await asked(hostile(ENDLESS), **bounds)
    assert children() <= before


@pytest.fixture
def late(tmp_path: Path) -> Path:
    """Return an `opa` that uses no CPU time for longer than it has."""
    program = tmp_path / "opa"
    program.write_text(f'#!/bin/sh\nsleep 2\nexec {opa_program()} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


async def test_a_policy_that_waits_for_a_busy_machine_has_not_used_its_time(late: Path) -> None:
    said, _ = await confined(late, "version", bounds=replace(PATIENT, seconds=1))
    assert said.startswith("Version: ")


def test_a_candidate_that_waits_for_a_busy_machine_has_not_used_its_time(late: Path) -> None:
    answers = confined_opa(late, seconds=1).ask(TEXT, [QUESTION.model_dump_json().encode()])
    assert answers["0"]["outcome"] == "needs_approval"


def test_a_candidate_that_comes_to_no_end_is_ended() -> None:
    with pytest.raises(AskingError, match="did not answer within the CPU time that it has"):
        confined_opa(opa_program(), seconds=1).ask(hostile(ENDLESS), [QUESTION.model_dump_json().encode()])


async def test_one_command_ends_with_the_time_of_all_of_them() -> None:
    with pytest.raises(PolicyError, match=r"^the policy does not answer within 0\.1 s$"):
        await confined(opa_program(), "run", "--server", bounds=replace(PATIENT, overall=0.1))


async def test_a_policy_is_ended_with_what_waits_for_it(tmp_path: Path) -> None:
    (tmp_path / "endless.rego").write_text(f"package endless\n\nfound if {{ {ENDLESS} }}\n", encoding="utf-8")
    before = children()
    words = ("eval", "--data", str(tmp_path / "endless.rego"), "data.endless.found")
    waiting = asyncio.create_task(confined(opa_program(), *words, bounds=PATIENT))

    async def runs() -> bool:
        return any(b"endless.rego" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children() - before)

    await until(runs)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert children() <= before


async def test_what_runs_a_policy_has_a_low_priority_and_nothing_of_ours(tmp_path: Path) -> None:
    (tmp_path / "endless.rego").write_text(f"package endless\n\nfound if {{ {ENDLESS} }}\n", encoding="utf-8")
    before = children()
    words = ("eval", "--data", str(tmp_path / "endless.rego"), "data.endless.found")
    waiting = asyncio.create_task(confined(opa_program(), *words, bounds=PATIENT))
    seen: list[tuple[int, set[str], bool]] = []

    async def is_seen() -> bool:
        for pid in children() - before:
            if Path(f"/proc/{pid}/exe").resolve() == opa_program().resolve():
                names = {one.split("=")[0] for one in Path(f"/proc/{pid}/environ").read_text().split("\0") if one}
                limits = Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
                is_bound = bool(re.search(rf"Max data size +{256 * MIB} +{256 * MIB} ", limits))
                writes_nothing = bool(re.search(r"Max file size +0 +0 ", limits))
                seen.append((os.getpriority(os.PRIO_PROCESS, pid), names, is_bound and writes_nothing))
        return bool(seen)

    await until(is_seen)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    priority, names, is_bound = seen[0]
    assert (priority > os.getpriority(os.PRIO_PROCESS, 0), is_bound) == (True, True)
    assert names <= {"GOGC", "GOMAXPROCS", "GOMEMLIMIT", "PWD", "OLDPWD", "SHLVL", "_"}


async def test_a_schema_that_is_elsewhere_is_not_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        said = f'# METADATA\n# title: Odd\n# schemas:\n#   - input: {{"$ref": "{address}"}}\nodd if input.step == 1\n'
        with pytest.raises(PolicyError, match=r"remote reference loading disabled"):
            await asked(hostile("odd", said))
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (f"1{'0' * 5000}", "the policy gives what cannot be read: "),
        ("1e999", "the policy gives what cannot be read: a number that is too large"),
        (f"{'[' * 2000}{']' * 2000}", "the policy is nested too deeply"),
    ],
    ids=["many digits", "an infinite number", "deep"],
)
async def test_an_answer_that_cannot_be_read_is_said_so(value: str, error: str) -> None:
    files = {name: text for name, text in TEXT.items() if name != "countersign/decision.rego"}
    files["countersign/decision.rego"] = f"package countersign.effect\n\ndecision := {value}\n"
    with pytest.raises(PolicyError, match=f"^{error}"):
        await asked(files, memory=1024 * MIB)


async def test_the_fault_of_a_policy_is_told_by_its_file_and_at_no_length() -> None:
    with pytest.raises(PolicyError, match=f"^{LIMITS}:[0-9]+: undefined function nothing.known$"):
        await asked(hostile("nothing.known(1)"))
    with pytest.raises(PolicyError) as raised:
        await asked(hostile(f"x := {'[' * 3000}"))
    assert len(str(raised.value)) < 3000


async def test_rules_for_which_there_is_no_time_are_counted_and_the_answer_stands() -> None:
    patient, hasty = await asked(TEXT), await asked(TEXT, near=0.0)
    assert (patient.untried, hasty.near, hasty.answer) == (0, [], patient.answer)
    assert hasty.untried > len(patient.near)


async def test_without_opa_nothing_is_asked(tmp_path: Path) -> None:
    with pytest.raises(NoOpaError, match="there is no such program"):
        await explain(tmp_path / "opa", TEXT, QUESTION.model_dump(mode="json"))
