"""The clients of the world: who triggers runs, and who clicks. Each writes down what it did and what it was told.

People also do once what one can do with a request beside deciding it: which act is a pure function of its key.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from zlib import crc32

import aiohttp
import psycopg

from edge.signing import headers
from sandbox.harness import SandboxError
from tests.faults.harness.schedule import Wish
from tests.faults.world import chat
from tests.faults.world.history import History, true_time
from tests.faults.world.world import CLIENT, CLIENT_SECRET, World

TRIES = 12
"""How often an act is tried before its person decides instead."""
_EACH = 12


class Whim(StrEnum):
    """An act of the menu on a card; the value is how its entry begins."""

    EDIT = "Edit and resubmit"
    WITHDRAW = "Withdraw my vote"
    HAND = "Hand to"
    ASK = "Ask a question"
    CHANGES = "Request changes"


_TURNS = (Whim.EDIT, Whim.EDIT, Whim.WITHDRAW, Whim.HAND, Whim.ASK, Whim.CHANGES)
_EDITED = "pay"


def whim_of(operation: str, key: str) -> Whim | None:
    """Return what somebody does with the request for an effect before it is decided, or None for most of them."""
    turn = crc32(key.encode()) % _EACH
    whim = _TURNS[turn] if turn < len(_TURNS) else None
    return None if whim is Whim.EDIT and operation != _EDITED else whim


def entered(whim: Whim, other: str) -> dict[str, str]:
    """Return what a person enters in the modal of an act; `other` is a colleague's name."""
    more = {Whim.EDIT: {"param:note": "one at a time"}, Whim.HAND: {"whom": chat.user_of(other)}}
    return {"reason": "seen, and thought about", **more.get(whim, {})}


def entry(card: dict[str, Any], whim: Whim) -> tuple[str, str] | None:
    """Return the menu's action and the value of the entry on a card, or None where it is not there."""
    return next(
        ((menu["action_id"], option["value"]) for menu, option in _options(card) if _words(option).startswith(whim)),
        None,
    )


def _options(card: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for block in card.get("blocks", []):
        for element in block.get("elements", []) if block["type"] == "actions" else []:
            for option in element.get("options", []):
                yield element, option


def _words(option: dict[str, Any]) -> str:
    return str(option["text"]["text"])


_ACCEPTED, _ANSWER_LIMIT = 202, 6.0
_DELIVERIES = 4
_AT_ONCE = 16
_TRIES = 8
_LOOK, _PAUSE, _LONGEST = 0.4, 0.4, 3.0
_SEEN = MappingProxyType({"reason": "seen and checked"})
_LANDED = 8.0
"""Seconds after which a person can say whether something happened: nothing lands that late."""


class Triggers:
    """Sends triggers until they are accepted: again after silence, and several at once."""

    def __init__(self, world: World, http: aiohttp.ClientSession) -> None:
        self._world, self._http = world, http
        self._history = History(world.histories / "triggers.jsonl")
        self._turns = asyncio.Semaphore(_AT_ONCE)  # clients that all send again at once would keep a front from rising

    async def bring(self, wish: Wish) -> None:
        """Have a run started."""
        async with self._turns:
            await asyncio.gather(*(self._until_accepted(wish) for _ in range(wish.copies)))

    async def _until_accepted(self, wish: Wish) -> None:
        pause = _PAUSE
        while not await self._send(wish):
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST)

    async def _send(self, wish: Wish) -> bool:
        payload = {"ref": wish.ref, **({"desk": f"desk-{wish.desk}"} if wish.kind == "pay" else {})}
        data = json.dumps({"ref": wish.ref, "payload": payload}).encode()
        path = f"/v1/triggers/world.{wish.kind}"
        signed = headers(CLIENT, CLIENT_SECRET, int(true_time()), "POST", path, data)
        sent, status, answer = true_time(), 0, {}
        try:
            async with self._http.post(f"{self._world.edge}{path}", data=data, headers=signed) as response:
                status, answer = response.status, await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError):
            pass
        is_accepted = status == _ACCEPTED
        run_id = answer.get("run_id") if is_accepted else None
        self._history.add("triggered", ref=wish.ref, type=wish.kind, ok=is_accepted, sent=sent, status=status,
                          run_id=run_id)  # fmt: skip
        return is_accepted


class People:
    """People who sign whatever card they see, each click delivered four times; one tells what had happened.

    Of some requests the first of them does something else before: edits, hands on, asks, wants changes, withdraws.
    """

    def __init__(self, world: World, http: aiohttp.ClientSession, officers: int = len(chat.PEOPLE)) -> None:
        self._world, self._http = world, http
        self._officers = chat.PEOPLE[:officers]
        self._history = History(world.histories / "people.jsonl")
        self._hands = {person: asyncio.Lock() for person in (*chat.PEOPLE, chat.OPERATOR)}
        self._busy: set[str] = set()
        self._tried: Counter[str] = Counter()  # how often somebody tried their whim, by the effect's key
        self._tasks: set[asyncio.Task[None]] = set()

    async def watch(self) -> None:
        """Click on, for ever."""
        try:
            while True:
                with suppress(psycopg.Error, OSError):
                    await self._look()
                await asyncio.sleep(_LOOK)
        finally:
            for task in self._tasks:
                task.cancel()

    async def _look(self) -> None:
        rows = await self._world.rows(
            "SELECT a.approval_id, a.kind, a.channel, a.card_ts, a.run_id, e.connector, e.operation, e.idempotency_key,"
            " array(SELECT person FROM votes v WHERE v.approval_id = a.approval_id AND withdrawn_at IS NULL) AS voted"
            " FROM approvals a JOIN effects e USING (effect_id)"
            " WHERE a.status = 'requested' AND a.card_ts IS NOT NULL"
            " ORDER BY e.connector <> 'policy', a.requested_at LIMIT %s",  # of what concerns all of them, first
            _AT_ONCE,
        )
        for row in rows:
            if whim := self._whim(row):
                self._beside(f"{row['approval_id']} {self._officers[0]}", self._have(whim, row))
                continue
            for person in self._asked(row):
                self._beside(f"{row['approval_id']} {person}", self._decide(person, row))

    def _whim(self, row: dict[str, Any]) -> Whim | None:
        """Return what the first officer is still to do with a request before it is decided."""
        is_open = row["kind"] == "effect" and self._tried[row["idempotency_key"]] < TRIES
        return whim_of(row["operation"], row["idempotency_key"]) if is_open else None

    def _asked(self, row: dict[str, Any]) -> list[str]:
        """Return who is to click on a card now: of three officers two are needed, and the third comes too late."""
        people = [chat.OPERATOR] if row["kind"] == "in_doubt" else list(self._officers)
        return [person for person in people if person not in row["voted"]]

    def _beside(self, name: str, work: Any) -> None:
        if name in self._busy:
            work.close()
            return
        self._busy.add(name)
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(done, name))

    def _ended(self, task: asyncio.Task[None], name: str) -> None:
        self._tasks.discard(task)
        self._busy.discard(name)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._history.add("stumbled", name=name, error=repr(error))

    async def _decide(self, person: str, row: dict[str, Any]) -> None:
        happened = True
        if row["kind"] == "in_doubt":
            await asyncio.sleep(_LANDED)
            happened = await self._happened(row)
        action = "countersign_approve" if happened else "countersign_reject"
        self._history.add("clicking", approval_id=row["approval_id"], person=person)
        async with self._hands[person]:
            answer = await self._act(
                person, action="click", channel=row["channel"], ts=row["card_ts"], action_id=action, confirmed=True,
                deliveries=_DELIVERIES,
            )  # fmt: skip
            if answer.get("ok") and _wants_reason(row):
                answer = await self._submit(person)
        ack = answer.get("ack") or {}
        self._history.add("clicked", approval_id=row["approval_id"], person=person, account=chat.user_of(person),
                          action=action, deliveries=_DELIVERIES, ok=bool(answer.get("ok")),
                          error=ack.get("error"))  # fmt: skip
        await asyncio.sleep(_PAUSE if answer.get("ok") else 2 * _PAUSE)  # the next look sees what came of it

    async def _have(self, whim: Whim, row: dict[str, Any]) -> None:
        """Do something else with a request; who withdraws a vote gives it first."""
        person, other, key = self._officers[0], self._officers[-1], row["idempotency_key"]
        if whim is Whim.WITHDRAW and person not in row["voted"]:
            await self._decide(person, row)
            return
        self._tried[key] += 1
        found = entry(await self._card(row), whim)
        if found is None:  # it was not drawn anew yet
            await asyncio.sleep(_PAUSE)
            return
        self._history.add("clicking", approval_id=row["approval_id"], person=person)
        async with self._hands[person]:
            answer = await self._act(person, action="click", channel=row["channel"], ts=row["card_ts"],
                                     action_id=found[0], chosen=found[1], deliveries=_DELIVERIES)  # fmt: skip
            if answer.get("ok"):
                answer = await self._submit(person, entered(whim, other))
        is_done = bool(answer.get("ok"))
        self._history.add("whim", whim=whim.name, approval_id=row["approval_id"], person=person, ok=is_done)
        if is_done:
            self._tried[key] = TRIES
        await asyncio.sleep(_PAUSE)

    async def _card(self, row: dict[str, Any]) -> dict[str, Any]:
        """Read a card as Slack has it."""
        asked = {"channel": row["channel"], "latest": row["card_ts"], "oldest": row["card_ts"], "inclusive": "true"}
        bearer = {"Authorization": f"Bearer {chat.BOT_TOKEN}"}
        with suppress(aiohttp.ClientError, TimeoutError, ValueError):
            url = f"{self._world.chat}/api/conversations.history"
            async with self._http.post(url, data=asked, headers=bearer) as response:
                found: list[dict[str, Any]] = (await response.json()).get("messages", [])
                return found[0] if found else {}
        return {}

    async def _submit(self, person: str, values: Mapping[str, str] = _SEEN) -> dict[str, Any]:
        """Send the modal, which opens a moment after the click was acknowledged."""
        answer: dict[str, Any] = {}
        for _ in range(_TRIES):
            answer = await self._act(person, action="submit", values=dict(values))
            if "problem" not in answer:
                break
            await asyncio.sleep(0.1)
        if not answer.get("ok"):
            await self._act(person, action="close")
        return answer

    async def _happened(self, row: dict[str, Any]) -> bool:
        """Ask the upstream what it did, as a person would who looks there; of the policy, which version is in force."""
        if row["connector"] == "policy":
            return bool(await self._world.rows("SELECT 1 FROM policy_activations WHERE run_id = %s", row["run_id"]))
        port = self._world.upstream_port
        query = {"key": row["idempotency_key"]}
        async with self._http.get(f"http://127.0.0.1:{port}/acts/{row['operation']}", params=query) as response:
            return bool((await response.json())["entries"])

    async def _act(self, person: str, **act: Any) -> dict[str, Any]:
        try:
            async with self._http.post(
                f"{self._world.chat}/sandbox/act", json={"user": chat.user_of(person), **act}
            ) as response:
                answer: dict[str, Any] = await response.json()
                return answer
        except (aiohttp.ClientError, TimeoutError, SandboxError, ValueError):
            return {}


def _wants_reason(row: dict[str, Any]) -> bool:
    """Return whether a modal may ask why: for what cannot be undone, and where something is denied."""
    return bool(row["operation"] == "wipe" or row["connector"] == "policy" or row["kind"] == "in_doubt")


def session() -> aiohttp.ClientSession:
    """Return what clients send with."""
    timeout = aiohttp.ClientTimeout(total=_ANSWER_LIMIT)
    return aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0, force_close=True))
