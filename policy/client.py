"""Asks OPA, through opa-python-client, and knows the exact policy text behind each answer."""

import asyncio
import logging
import time
from typing import Self

import aiohttp
from pydantic import ValidationError

from policy.access import ANYBODY, Access
from policy.answer import Reply, first_problem, parse_reply
from policy.complaints import Complaints
from policy.model import PolicyText, PolicyUnavailableError, Question, Verdict
from policy.transport import connect

_log = logging.getLogger(__name__)

TEXTS_KEPT = 32
FRESH_SECONDS = 5.0
"""How long a look at the policy's text is believed: a bundle that lies about its revision is found out soon."""

_PACKAGE, _RULE = "countersign.effect", "decision"
# A built-in that fails is an error of the whole question; without this it only makes its rule undefined.
_PARAMETERS = {"provenance": "true", "strict-builtin-errors": "true"}


class OpaEngine:
    """The policy engine of the design, section 11: one OPA server, asked at one constant path, without retries."""

    def __init__(self, url: str, *, timeout: float, fresh: float = FRESH_SECONDS, access: Access = ANYBODY) -> None:
        self._url = url
        self._timeout = timeout
        self._client = connect(url, timeout, access)
        self._texts: dict[str, PolicyText] = {}
        self._fresh = fresh
        self._read_at = float("-inf")
        self._fetching = asyncio.Lock()
        self._complaints = Complaints(_log)

    async def __aenter__(self) -> Self:
        """Open the connection pool."""
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connection pool."""
        await self._client.close_connection()

    async def ask(self, question: Question) -> Verdict:
        """Return the verdict, or raise PolicyUnavailableError, within the timeout."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout):  # all of it: connecting, a slow drip, fetching the text
                reply = parse_reply(await self._query(question))
                await self._know(reply)
        except TimeoutError as error:
            raise self._unavailable(f"no answer within {self._timeout * 1000:.0f} ms") from error
        except ValidationError as error:
            raise self._unavailable(first_problem(error)) from error
        except (PolicyUnavailableError, aiohttp.ClientError, OSError, ValueError, RecursionError) as error:
            raise self._unavailable(str(error) or type(error).__name__) from error
        return Verdict(
            answer=reply.answer,
            decision_id=reply.decision_id,
            policy_digest=reply.revision,
            latency_ms=(time.perf_counter() - started) * 1000,
        )

    def text(self, digest: str) -> PolicyText:
        """Return the text whose digest a recent verdict carried, or raise LookupError."""
        return self._texts[digest]

    async def _query(self, question: Question) -> object:
        return await self._client.query_rule(question.model_dump(mode="json"), _PACKAGE, _RULE, _PARAMETERS)

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
                    "build it with `python -m policy`, or ask again if it was just replaced"
                )
            if len(self._texts) >= TEXTS_KEPT:
                del self._texts[next(iter(self._texts))]
            self._texts[text.digest] = text
            self._read_at = time.monotonic()

    def _knows(self, revision: str) -> bool:
        return revision in self._texts and time.monotonic() - self._read_at < self._fresh

    def _unavailable(self, why: str) -> PolicyUnavailableError:
        said = f"policy unavailable: OPA at {self._url}: {why}"
        self._complaints.say(said)
        return PolicyUnavailableError(said)
