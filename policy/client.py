"""Asks OPA, and knows the exact policy text behind each answer.

What goes wrong again and again is logged at once, and then once a minute with its count.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Self

from pydantic import ValidationError

from policy.answer import Reply, first_problem, parse_answers, parse_flaws, parse_reply
from policy.contract import Answer, PolicyText, PolicyUnavailableError, Question, Verdict
from policy.operator_contract import Authorization, OperatorAnswer, OperatorQuestion
from policy.transport import OPEN_ACCESS, Access, connect

LOG_EVERY = 60.0
"""Seconds between two lines."""


class ThrottledLog:
    """One kind of trouble. `clock` gives seconds that only ever grow."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._said_at = float("-inf")
        self._since = 0

    def say(self, what: str) -> None:
        """Log it, or count it where the last line is less than a minute old."""
        self._since += 1
        now = self._clock()
        if now - self._said_at < LOG_EVERY:
            return
        times = f" ({self._since} times since this was last said)" if self._since > 1 else ""
        self._log.warning("%s%s", what, times)
        self._said_at, self._since = now, 0


_log = logging.getLogger(__name__)

TEXTS_KEPT = 32
FRESH_SECONDS = 5.0
"""How long a look at the policy's text is believed: a bundle that lies about its revision is found out soon."""

MOST_QUESTIONS = 32
"""Questions in one request: together they cost OPA and us far less, and of more than these none is answered sooner."""

_DECISIONS, _FLAWS = "countersign/effect/decisions", "countersign/effect/config/flaws"
_OPERATOR = "countersign/operator/decision"


class _AwayError(PolicyUnavailableError):
    """There was no reply, so no question can be why."""


class OpaEngine:
    """The policy engine of the design, section 11: one OPA server, asked at constant paths, without retries."""

    def __init__(self, url: str, *, timeout: float, fresh: float = FRESH_SECONDS, access: Access = OPEN_ACCESS) -> None:
        self._url = url
        self._timeout = timeout
        self._client = connect(url, timeout, access)
        self._texts: dict[str, PolicyText] = {}
        self._flaws: dict[str, dict[str, str]] = {}  # by the text's digest and the tenant
        self._fresh = fresh
        self._read_at = float("-inf")
        self._fetching = asyncio.Lock()
        self._complaints = ThrottledLog(_log)

    async def __aenter__(self) -> Self:
        """Open the connection pool."""
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connection pool."""
        await self._client.__aexit__()

    async def ask(self, question: Question) -> Verdict:
        """Return the verdict, or raise PolicyUnavailableError, within the timeout."""
        (found,) = await self.ask_all([question])
        if isinstance(found, PolicyUnavailableError):
            raise found
        return found

    async def ask_all(self, questions: Sequence[Question]) -> list[Verdict | PolicyUnavailableError]:
        """Return for each question the verdict, or why there is none, within twice the timeout."""
        if len(questions) <= MOST_QUESTIONS:
            return await self._ask_set(questions)
        sets = [questions[start : start + MOST_QUESTIONS] for start in range(0, len(questions), MOST_QUESTIONS)]
        return [found for answered in await asyncio.gather(*map(self._ask_set, sets)) for found in answered]

    async def _ask_set(self, questions: Sequence[Question]) -> list[Verdict | PolicyUnavailableError]:
        """Ask for all in one request; where its reply is no use, one of them may be why, and each is asked alone.

        A server that is away or late is not asked more often for that.
        """
        try:
            return await self._answers(questions)
        except PolicyUnavailableError as error:
            if len(questions) == 1 or isinstance(error, _AwayError):
                return [self._unavailable(str(error)) for _ in questions]
        alone = await asyncio.gather(*(self._ask_set([question]) for question in questions))
        return [found for (found,) in alone]

    async def _answers(self, questions: Sequence[Question]) -> list[Verdict | PolicyUnavailableError]:
        started = time.perf_counter()
        async with self._in_time():
            asked = b"[%b]" % b",".join(question.model_dump_json().encode() for question in questions)
            reply = parse_reply(await self._client.ask(_DECISIONS, asked))
            answers = parse_answers(reply.result, len(questions))
            await self._know(reply)
            flaws = {tenant: await self._flaw(reply, tenant) for tenant in {one.tenant for one in questions}}
        latency = (time.perf_counter() - started) * 1000
        return [
            self._verdict(reply, place, flaws[question.tenant] or answers[place], latency)
            for place, question in enumerate(questions)
        ]

    async def judge(self, question: OperatorQuestion) -> Authorization:
        """Return whether an operator may do something, or raise PolicyUnavailableError, within the timeout."""
        try:
            async with self._in_time():
                reply = parse_reply(await self._client.ask(_OPERATOR, question.model_dump_json().encode()))
                answer = OperatorAnswer.model_validate_json(json.dumps(reply.result))
                await self._know(reply)
                flaw = await self._flaw(reply, question.tenant)
        except PolicyUnavailableError as error:
            raise self._unavailable(str(error)) from error
        if flaw:
            raise self._unavailable(flaw)
        return Authorization(answer, reply.decision_id, reply.revision)

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        """Bound all that is done in the block: connecting, a slow drip, fetching the text; what fails is no answer."""
        try:
            async with asyncio.timeout(self._timeout):
                yield
        except TimeoutError as error:
            raise _AwayError(f"no answer within {self._timeout * 1000:.0f} ms") from error
        except OSError as error:
            raise _AwayError(str(error) or type(error).__name__) from error
        except ValidationError as error:
            raise PolicyUnavailableError(first_problem(error)) from error
        except (ValueError, RecursionError) as error:
            raise PolicyUnavailableError(str(error) or type(error).__name__) from error

    def _verdict(
        self, reply: Reply, place: int, found: Answer | PolicyUnavailableError | str, latency: float
    ) -> Verdict | PolicyUnavailableError:
        if not isinstance(found, Answer):
            return self._unavailable(str(found))
        return Verdict(
            answer=found,
            decision_id=f"{reply.decision_id}/{place}",
            policy_digest=reply.revision,
            opa_version=reply.version,
            latency_ms=latency,
        )

    async def in_force(self) -> PolicyText:
        """Return the text that OPA serves now, or raise PolicyUnavailableError, within the timeout."""
        try:
            async with self._in_time():
                reply = parse_reply(await self._client.ask(_FLAWS, b"{}"))
                await self._know(reply)
        except PolicyUnavailableError as error:
            raise self._unavailable(str(error)) from error
        return self.text(reply.revision)

    def text(self, digest: str) -> PolicyText:
        """Return the text whose digest a recent verdict carried, or raise LookupError."""
        return self._texts[digest]

    async def _know(self, reply: Reply) -> None:
        """Hold the text of the reply's revision; a revision that is not its text's digest proves nothing."""
        if self._knows(reply.revision):
            return
        async with self._fetching:
            if self._knows(reply.revision):
                return
            text = await self._client.policy(reply.bundle)
            if text.digest != reply.revision:
                raise PolicyUnavailableError(
                    f"the bundle's revision {reply.revision} is not the digest of its text, {text.digest}: "
                    "build it with `countersign policy build`, or ask again if it was just replaced"
                )
            if len(self._texts) >= TEXTS_KEPT:
                oldest = next(iter(self._texts))
                del self._texts[oldest], self._flaws[oldest]
            self._texts[text.digest] = text
            self._flaws.setdefault(text.digest, {})
            self._read_at = time.monotonic()

    async def _flaw(self, reply: Reply, tenant: str) -> str:
        """Return what is wrong with the tenant's configuration, "" if nothing is: looked at once for each policy.

        The rules guard what they read, and no more: what they do not read may still be what somebody relied on.
        """
        known = self._flaws[reply.revision]
        if tenant not in known:
            found = parse_reply(await self._client.ask(_FLAWS, json.dumps({"tenant": tenant}).encode()))
            if found.revision != reply.revision:
                raise PolicyUnavailableError("the policy was replaced while it was looked at; ask again")
            known[tenant] = "; ".join(f"{tenant}: {flaw}" for flaw in parse_flaws(found.result))
        return known[tenant]

    def _knows(self, revision: str) -> bool:
        return revision in self._texts and time.monotonic() - self._read_at < self._fresh

    def _unavailable(self, why: str) -> PolicyUnavailableError:
        said = f"policy unavailable: OPA at {self._url}: {why}"
        self._complaints.say(said)
        return PolicyUnavailableError(said)
