"""What is said of a bundle at the top of its report: whether it was verified, whether it holds, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evidence.verify.judgement import Judgement, Standing
from evidence.verify.opening import FIRST_RULES
from evidence.verify.procedure import STEPS
from evidence.verify.trust import Trust
from evidence.verify.verify import Passed, VerificationError, VerificationReport

_SENTENCES = {
    **FIRST_RULES,
    **{rule.name: rule.sentence for step in STEPS for rule in step.rules},
    **{rule.name: rule.sentence for step in STEPS for rule in step.bound},
}
_SIGNED = 4
"""The step after which somebody who has the key is known to have said all that is in the bundle."""


class Kind(StrEnum):
    """How it looks."""

    GOOD = "good"
    BAD = "bad"
    OPEN = "open"


@dataclass(frozen=True)
class Verdict:
    """`standing` is the word on each sheet of paper; `is_told` says whether the page tells what the bundle says.

    `trusted` is what else than the key was given, or was not, and what came of it.
    """

    kind: Kind
    mark: str
    heading: str
    standing: str
    sentences: Sequence[str]
    footer: str
    is_told: bool
    exit_status: Standing = Standing.HOLDS
    key_id: str = ""
    steps: Sequence[Passed] = ()
    trusted: Sequence[tuple[str, str]] = ()


_FOOTER = (
    "Made by countersign from the bundle alone. This page is no evidence: the bundle is. Whoever has the bundle and the"
    " key makes this page again, byte for byte."
)

NO_KEY = Verdict(
    kind=Kind.OPEN,
    mark="!",
    heading="Not verified: no key was given",
    standing="NOT VERIFIED",
    sentences=(
        "This page tells what the file says. Who vouches for it, and whether it was changed, was not looked at.",
        "Give the public key (--key) to have it verified.",
    ),
    footer=_FOOTER,
    is_told=True,
)


def verdict_on(judged: Judgement, trust: Trust) -> Verdict:
    """Return the verdict on a bundle for which a key was given."""
    if isinstance(judged.found, VerificationReport):
        return _good(judged.found, trust)
    if isinstance(judged.found, VerificationError):
        return verdict_of(judged.found, judged.standing)
    raise judged.found  # what was asked for cannot be decided


def _good(report: VerificationReport, trust: Trust) -> Verdict:
    return Verdict(
        kind=Kind.GOOD,
        mark="✓",
        heading="Verified: everything holds",
        standing="VERIFIED",
        sentences=(
            f"Signed with the key {report.key_id[:16]}…, and unchanged since. Its records agree with each other.",
            trust.log_key,
            f"{len(report.rules)} rules in {len(report.steps)} steps hold. Compare the key, below, with its owner.",
        ),
        footer=_FOOTER,
        is_told=True,
        key_id=report.key_id,
        steps=report.steps,
        trusted=_trusted(report, trust),
    )


def _trusted(report: VerificationReport, trust: Trust) -> list[tuple[str, str]]:
    """Say what was demanded beside the signature of the key that was given."""
    found = {held.rule: held.found for held in report.rules}
    log = "not demanded: no key of the log was given (--log-key)"
    if trust.log:
        log = f"the run's records stand in the log, as its key has signed it: {found['log.signed']}"
    cosigned = f"at least {trust.witnessed} had to have cosigned the log: {found.get('log.witnessed', '')}"
    return [
        ("Register of keys", found["key.counted"] if trust.register else "not given (--keys)"),
        ("Audit log", log),
        ("Witnesses", cosigned if trust.witnesses else "not demanded: none was given (--witness)"),
        ("Checkpoints kept", found.get("log.kept", "none was given (--checkpoint)")),
        ("Time stamp", found["log.stamped"] if trust.authority else "not demanded: no authority was given (--tsa)"),
    ]


def verdict_of(error: VerificationError, standing: Standing) -> Verdict:
    """Return the verdict on a bundle in which something does not hold."""
    what = f"{error.member}: {error.what}" if error.member else error.what
    is_told = error.step > _SIGNED
    rest = (
        "What follows is what the bundle says, signed as it is. Do not rely on it."
        if is_told
        else "Nobody is known to have said what is in it, so this page tells nothing of it."
    )
    return Verdict(
        kind=Kind.BAD,
        mark="✗",
        heading="Not signed by this key" if standing is Standing.UNSIGNED else "This bundle does not hold",
        standing="DOES NOT HOLD",
        sentences=(
            f"Step {error.step}, rule {error.rule}: {what}.",
            f"The rule: {_SENTENCES.get(error.rule, error.rule).replace('`', '')}",
            rest,
        ),
        footer=_FOOTER,
        is_told=is_told,
        exit_status=standing,
        key_id=(error.about and error.about.key_id) or "",
    )
