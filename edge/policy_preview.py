"""Previews of policy over HTTP: a question, and another text for it, in the shape of EOPA's preview API."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import FastAPI, Request
from pydantic import Field

from edge.callers import Caller, Signed
from edge.messages import Message, parse_body
from edge.problems import Denied, Problem
from policy.confined import NoOpaError
from policy.contract import PolicyUnavailableError, Question
from policy.errors import PolicyError
from policy.trial import parse_question, rules_of
from runtime.services.policy_previews import BusyError, PolicyPreviews, Preview, Sought

TEXT_LIMIT = 1024 * 1024
"""Bytes of a body."""
MOST_MODULES = 200
MOST_RULES = 200
"""Rules of a kind that are shown."""
MOST_SIGNERS = 100
LONGEST_VALUE = 1000
"""Characters of a value, as JSON, that is shown whole."""

_AGAIN = {"Retry-After": "5"}


class PreviewIn(Message):
    """A question, and what is other than in force: modules by their paths, configuration by tenant.

    With `sandbox` the policy in force is left aside.
    """

    input: dict[str, Any]
    data: dict[str, dict[str, Any]] | None = None
    rego_modules: Annotated[dict[str, str], Field(default_factory=dict, max_length=MOST_MODULES)]
    sandbox: bool = False

    def sought(self, question: Question) -> Sought:
        """Return what is asked of which text."""
        return Sought(question, self.rego_modules, self.data, self.sandbox)


class RuleOut(Message):
    """A rule, and what its conditions read; `not_so` is the one condition that kept it from giving anything."""

    path: str
    title: str
    code: str
    file: str
    row: int
    reads: dict[str, Any]
    not_so: str | None


class RulesOut(Message):
    """The rules that gave something, and those that came near.

    `left_out` are more of them than are shown, and `untried` of those that may have come near nobody knows.
    """

    fired: list[RuleOut]
    near: list[RuleOut]
    left_out: int
    untried: int


class SignerOut(Message):
    """A person who could sign now, with those of the groups that are asked."""

    id: str
    name: str
    groups: list[str]


class SignersOut(Message):
    """How many people could sign now, and the first of them by their ids."""

    count: int
    people: list[SignerOut]


class PreviewOut(Message):
    """What a text answers. `fault` says why nothing would be done on it: then the gate would not take it.

    `signers` is null where nobody has to sign.
    """

    result: Any
    fault: str | None
    policy_digest: str
    rules: RulesOut
    signers: SignersOut | None
    printed: list[str]
    milliseconds: float


def add_policy_preview(app: FastAPI, tenant: str, previews: PolicyPreviews | None, signed: Signed) -> None:
    """Add the route; `signed` returns the caller and its body. Without `previews` it says that there are none."""

    @app.post("/v1/policy/preview")
    async def preview(request: Request) -> PreviewOut:
        caller, body = await signed(request, most=TEXT_LIMIT)
        if not caller.grants.previews:
            raise Denied("caller.previews", tenant, f"{caller.id} may not preview policies")
        if previews is None:
            raise Problem(501, "this process has no `opa` that could be asked: COUNTERSIGN_OPA is not set")
        return _shown(await _previewed(previews, _sought(caller, tenant, body)))


def _sought(caller: Caller, tenant: str, body: bytes) -> Sought:
    sent = parse_body(PreviewIn, body)
    if sent.sandbox and not sent.rego_modules:
        raise Problem(422, "rego_modules: missing; with sandbox they are the whole policy")
    try:
        question = parse_question(sent.input)
    except PolicyError as error:
        raise Problem(422, f"input: {error}") from error
    if question.tenant != tenant:
        raise Denied("caller.previews", question.tenant, f"{caller.id} asks about the tenant {tenant} alone")
    return sent.sought(question)


async def _previewed(previews: PolicyPreviews, sought: Sought) -> Preview:
    try:
        return await previews.preview(sought)
    except BusyError as error:
        raise Problem(503, str(error), _AGAIN) from error
    except PolicyUnavailableError as error:
        raise Problem(503, f"the policy in force cannot be read just now: {error}", _AGAIN) from error
    except NoOpaError as error:
        raise Problem(501, str(error)) from error
    except PolicyError as error:
        raise Problem(422, str(error)) from error


def _shown(found: Preview) -> PreviewOut:
    explanation, rules = found.explanation, rules_of(found.explanation)
    fired, near = ([_rule(one) for one in rules[name][:MOST_RULES]] for name in ("fired", "near"))
    left_out = len(rules["fired"]) + len(rules["near"]) - len(fired) - len(near)
    return PreviewOut(
        result=explanation.answer,
        fault=found.fault,
        policy_digest=found.policy_digest,
        rules=RulesOut(fired=fired, near=near, left_out=left_out, untried=rules["untried"]),
        signers=_signers(found),
        printed=list(explanation.printed),
        milliseconds=explanation.milliseconds,
    )


def _rule(rule: Mapping[str, Any]) -> RuleOut:
    return RuleOut(**{**rule, "reads": {words: _short(value) for words, value in rule["reads"].items()}})


def _short(value: Any) -> Any:
    """Return a value, one that is too long as the begin of its JSON."""
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def _signers(found: Preview) -> SignersOut | None:
    if found.signers is None:
        return None
    people = [SignerOut(id=one.id, name=one.name, groups=list(one.groups)) for one in found.signers[:MOST_SIGNERS]]
    return SignersOut(count=len(found.signers), people=people)
