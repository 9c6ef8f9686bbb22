"""What nobody may see stands nowhere: other sides repeat all they are given, in every way, and everything is searched.

Searched are all tables, the log, what the chat was told, and the sealed bundle, once the run has ended; while it runs,
everything but the rows that the work itself is done with.
"""

import hashlib
import html
import json
import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from countersign.embedded.opa import OpaChild
from countersign.logs import Cleaned
from countersign.setting_secrets import make_privacy
from countersign.settings import Settings
from evidence.local import LocalArchive
from evidence.report import report_on
from evidence.sealer import Sealer
from evidence.verify.verify import verify
from evidence.zipform import unpack
from policy.client import OpaEngine
from receipts.chain import Actor
from receipts.privacy import Privacy
from receipts.redaction import MARKER
from receipts.signing import public_path
from runtime.handlers import (
    Answer,
    BlockedError,
    Call,
    Handler,
    JsonObject,
    Metadata,
    OutcomeUnknownError,
    Reconciled,
    RefusedError,
    TransientError,
    Untouched,
    Usage,
)
from runtime.inbox import inbox
from runtime.model.notification import Notification
from runtime.model.payloads import CompletionPayload, ProgressPayload
from runtime.planning.triggers import TriggerConflictError
from tests.bench import BENCH_PRIVACY, BENCH_SECRET, TENANT, Bench, open_bench
from tests.databases import fresh_database
from tests.forms import FORMS, cores, inside
from tests.patience import MINUTE
from tests.sealing import sealer_of

AGENT = Actor(id="portal-bot", kind="agent")
PACK = Path(__file__).parents[1] / "packs/private"
HIDDEN = ("pin", "number", "share", "contact", "api_token")
KINDS: list[type[Exception]] = [
    *(RefusedError, TransientError, OutcomeUnknownError, BlockedError),
    *(ValueError, KeyError, TimeoutError, ZeroDivisionError),
]
WORKED_WITH = {"effects.fields", "runs.trigger", "steps.params", "steps.result", "notifications.payload"}
"""Columns that hold what the work is done with, as long as the run lasts."""


def everything(values: Iterable[str]) -> str:
    """Return what a careless or hostile other side says of what it was given."""
    words = [form(value) for value in values for form in FORMS.values()]
    return f"cannot take {' or '.join(words)}; {' '.join(part for value in values for part in inside(value))}"


def traces(secret: str) -> set[str]:
    """Return the texts any of which would give a secret away."""
    return {*(form(secret) for form in FORMS.values()), *cores(secret)}


@dataclass
class Echo:
    """An other side that repeats whatever it has ever been given: first in errors, then in its results."""

    kinds: list[type[Exception]]
    secrets: list[str]

    async def run(self, call: Call) -> Answer:
        if self.kinds:
            raise self.kinds.pop(0)(everything(self.secrets))
        return self.told(call)

    def told(self, call: Call) -> Answer:
        """Repeat everything beside the result, too; where a write was asked for, in a place where it makes no sense."""
        secret, *_ = self.secrets
        units = {"requests": 1} if call.key == "" else {secret: 1}
        usage = [Usage(provider=f"of {value}"[:200], model=value[:200] or None, units=units) for value in self.secrets]
        return Answer(self.said(call), Metadata(request_id=f"id {secret}"[:200]), usage)

    async def reconcile(self, _call: Call) -> Reconciled:
        raise ValueError(everything(self.secrets))

    async def before(self, call: Call) -> JsonObject:
        return self.said(call)

    def said(self, call: Call) -> JsonObject:
        echo: JsonObject = {value: [everything([value]), value] for value in self.secrets}
        return {"echo": echo, "token": self.secrets[0], "sent": dict(call.params), "text": everything(self.secrets)}


def handlers(echo: Echo) -> dict[str, Handler]:
    return {
        "bench::look": Handler(run=echo.run, writes=False),
        "servicenow::add_work_note": Handler(run=echo.run, reconcile=echo.reconcile, before=echo.before),
        "register::file_report": Handler(run=echo.run, before=echo.before),
        "portal::request_documents": Handler(run=echo.run),
    }


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    else:
        yield json.dumps(value)


async def stored(bench: Bench) -> dict[str, str]:
    """Return all that the database holds, by column."""
    tables = await bench.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
    found: dict[str, list[str]] = {}
    for table in (row["table_name"] for row in tables):
        for row in await bench.rows(f"SELECT to_json(t) AS row FROM {table} t"):
            for column, value in row["row"].items():
                found.setdefault(f"{table}.{column}", []).extend(texts(value))
    return {column: "\n".join(values) for column, values in found.items()}


def leaks(places: Mapping[str, str], secrets: Iterable[str]) -> list[tuple[str, str]]:
    """Return where a trace of a secret stands."""
    every = {trace for secret in secrets for trace in traces(secret)}
    return [(place, trace) for place, text in places.items() for trace in sorted(every) if trace in text]


@dataclass
class Stage:
    """A bench whose other sides repeat everything, and the secrets that they are given."""

    bench: Bench
    given: dict[str, str]
    sealer: Sealer
    public: Path
    log: pytest.LogCaptureFixture

    @property
    def secrets(self) -> list[str]:
        return [*self.given.values(), BENCH_SECRET]

    async def answer(self, step: str, payload: type[CompletionPayload] | type[ProgressPayload], **said: Any) -> None:
        """Let the other side of the durable step say something."""
        waits = await self.bench.rows(
            "SELECT correlation_key, token FROM waits WHERE step = %s AND status = 'active'", step
        )
        for wait in waits:
            body = {"result": {}, "token": wait["token"], "verbs": ["await_answer"], **said}
            notification = Notification(
                notification_id=self.bench.engine.new_id("ntf"),
                tenant=TENANT,
                dedupe_key=self.bench.engine.new_id("said"),
                correlation_key=wait["correlation_key"],
                payload=payload(**body),
                actor=AGENT,
                request_id="",
            )
            await inbox.apply(self.bench.engine, await inbox.record(self.bench.engine, notification))

    async def decide(self, reason: str) -> None:
        """Let people approve what is asked, and say why."""
        for row in await self.bench.rows("SELECT approval_id, kind FROM approvals WHERE status = 'requested'"):
            people = ("omar",) if row["kind"] == "in_doubt" else ("ann", "ben")
            for person in people:
                assert (await self.bench.click(person, row["approval_id"], reason=reason)).counted

    async def places(self) -> dict[str, str]:
        """Return everything that is stored, logged, sent or sealed."""
        chat = "\n".join(text for call in self.bench.chat.calls for text in texts(dict(call.params)))
        records = "\n".join(f"{record.getMessage()} {record.exc_text or ''}" for record in self.log.records)
        found = {**await stored(self.bench), "chat": chat, "log": f"{records}\n{self.log.text}"}
        for row in await self.bench.rows("SELECT location FROM evidence_bundles WHERE location IS NOT NULL"):
            assert verify(Path(row["location"]), self.public)
            members = unpack(BytesIO(Path(row["location"]).read_bytes())).members
            found |= {f"bundle {name}": data.decode() for name, data in members.items()}
        return found


SPECIAL = st.text(st.sampled_from(" \"'\\&<>%+/=?é漢🙂\n\t"), max_size=4)


@st.composite
def secret(draw: st.DrawFn) -> str:
    """Return a text that stands nowhere by chance, with characters that others escape."""
    seed = draw(st.integers(0, 2**32))
    body = hashlib.sha256(str(seed).encode()).hexdigest()[: draw(st.integers(8, 40))]
    return f"{draw(SPECIAL)}{body[:4]}{draw(SPECIAL)}{body[4:]}"


# not shrunk: each example plays a whole run
@settings(max_examples=6, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_no_redacted_value_and_no_secret_stands_anywhere(
    postgres: str, opa: OpaChild, tmp_path: Path, caplog: pytest.LogCaptureFixture, data: st.DataObject
) -> None:
    values = {name: data.draw(secret(), label=name) for name in HIDDEN}
    kinds = data.draw(st.lists(st.sampled_from(KINDS), max_size=5), label="errors")
    ref = hashlib.sha256(json.dumps([values, len(kinds)]).encode()).hexdigest()[:12]
    echo = Echo(kinds, [*values.values(), BENCH_SECRET])
    async with fresh_database(postgres) as dsn, staged(dsn, opa, tmp_path, echo, caplog) as bare:
        await play(replace(bare, given=values), ref)
    caplog.clear()


@asynccontextmanager
async def staged(
    dsn: str,
    opa: OpaChild,
    folder: Path,
    echo: Echo,
    log: pytest.LogCaptureFixture,
    privacy: Privacy = BENCH_PRIVACY,
) -> AsyncIterator[Stage]:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], handlers(echo), privacy=privacy) as bench,
    ):
        key = folder / "keys" / "evidence.pem"
        sealer = sealer_of(bench.engine, LocalArchive(folder / "evidence"), key)
        yield Stage(bench, dict.fromkeys(HIDDEN, ""), sealer, public_path(key), log)


async def play(stage: Stage, ref: str) -> None:
    """Run it to its end, with everybody repeating what nobody may see, and search."""
    bench, said = stage.bench, everything(stage.secrets)
    payload = {"case": f"case-{ref}", **stage.given}
    run_id = (await bench.start("bench.private", payload, ref=ref)).run_id
    await bench.settle()
    await stage.answer("ask", ProgressPayload, message=said)
    await stage.answer("ask", CompletionPayload, result={"count": said})  # refused: the step goes on waiting
    for _ in range(6):
        await stage.decide(said)
        await bench.later(minutes=3)
    during = {place: text for place, text in (await stage.places()).items() if place not in WORKED_WITH}
    assert leaks(during, stage.secrets) == []
    await stage.answer("ask", CompletionPayload, outcome="failed", error=said)
    await bench.later(days=2)
    await stage.decide(said)
    await bench.later(days=400)
    assert (await bench.run(run_id))["status"] in ("succeeded", "failed_terminal")
    while await stage.sealer():
        pass
    assert (await bench.rows("SELECT stored_at FROM evidence_bundles WHERE run_id = %s", run_id))[0]["stored_at"]
    assert leaks(await stage.places(), stage.secrets) == []
    again = await bench.start("bench.private", payload, ref=ref)
    assert (again.run_id, again.is_new) == (run_id, False), "a trigger is known again, whatever was forgotten of it"
    with pytest.raises(TriggerConflictError):
        await bench.start("bench.private", {**payload, "pin": "another"}, ref=ref)


@dataclass
class Misfit(Echo):
    """An other side that answers a write with what it was given where a number belongs."""

    def said(self, call: Call) -> JsonObject:
        return {"count": " ".join(self.secrets)} if call.key else {}


async def test_value_that_does_not_fit_its_schema_is_not_quoted_where_nobody_may_see_it(
    dsn: str, opa: OpaChild, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    values = {name: hashlib.sha256(name.encode()).hexdigest()[:20] for name in HIDDEN}
    async with staged(dsn, opa, tmp_path, Misfit([], list(values.values())), caplog) as bare:
        stage, bench = replace(bare, given=values), bare.bench
        result = (await bench.start("bench.private", {"case": "C1", **values}, ref="result")).run_id
        stage.given["pin"] = f"{values['pin']}{'0' * 1000}"
        params = (await bench.start("bench.private", {"case": "C2", **stage.given}, ref="params")).run_id
        await bench.settle()
        for run_id, step, says in ((result, "note", "is not of type 'integer'"), (params, "look", "is too long")):
            error = (await bench.run(run_id))["steps"][step]["error"]
            assert "[redacted]" in error
            assert says in error or step == "look", error
        places = {place: text for place, text in (await stage.places()).items() if place not in WORKED_WITH}
        assert leaks(places, values.values()) == []


SETTINGS = Settings(
    database_url="postgresql://program:Bloomberg-0f1e2d3c@127.0.0.1:5432/countersign",
    slack_app_token=BENCH_SECRET,
    opa_token="portal.example.com-9f8e7d6c",
    pack={
        "kyc": {
            "bloomberg_token_url": "http://127.0.0.1:28813/ext/api/as/token.oauth2?x".removesuffix("?x"),
            "bloomberg_client_id": "Bloomberg of meridian",
            "bloomberg_client_secret": "Halvorsen has no response",
            "portal_url": "https://portal.example.com/api",
            "portal_token": "https-0a1b2c3d4e5f",
        }
    },
)
PLANTED = (
    *(BENCH_SECRET, "Bloomberg-0f1e2d3c", "portal.example.com-9f8e7d6c", "Halvorsen has no response"),
    "https-0a1b2c3d4e5f",
)
ORDINARY = (
    *("Bloomberg", "has no response to the request", "https://portal.example.com/api", "Ingrid Halvorsen", "Lindqvist"),
    *("listening on 127.0.0.1 port 28813", "http://127.0.0.1:28813/ext/api/as/token.oauth2", "Halvorsens", "meridian"),
    *("the secretary and the password", "https://portal.example.com", "a token for Acme Holding GmbH", "xapp-1"),
)


SINKS = (
    *(
        "leaf_sets.leaves",
        "receipts.document",
        "reads.document",
        "steps.error",
        "runs.error",
        "votes.",
    ),
    *("chat", "log", "report", "bundle audit.jsonl", "bundle receipts/", "bundle reads/", "bundle approvals/"),
    *("bundle costs.json", "bundle summary.md", "bundle timeline.md", "bundle run.json"),
)
"""All that is recorded, sealed, said and logged."""


@dataclass
class Teller(Echo):
    """An other side that says the same of everything it is asked, and names it as who was paid."""

    says: str = ""
    away: set[str] = field(default_factory=lambda: {"look", "add_work_note"})

    async def run(self, call: Call) -> Answer:
        if call.operation in self.away:
            self.away.remove(call.operation)
            raise TransientError(self.says)
        usage = [Usage(provider=self.says[:200], units={"requests": 1})]
        return Answer({"echo": self.says}, Metadata(request_id=self.says[:200]), usage)

    async def before(self, _call: Call) -> JsonObject:
        return {"echo": self.says}

    async def reconcile(self, _call: Call) -> Reconciled:
        return Untouched()


def read(text: str) -> str:
    """Return what a reader sees of JSON, Markdown, HTML or Slack's escapes."""
    return html.unescape(text.replace("\\", "")).replace("\u2236", ":")


@settings(max_examples=4, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.sampled_from(ORDINARY), min_size=2, max_size=3, unique=True), secret=st.sampled_from(PLANTED))
async def test_words_names_and_addresses_stand_on_every_record_as_they_were_said_beside_secrets_that_are_gone(
    postgres: str, opa: OpaChild, tmp_path: Path, caplog: pytest.LogCaptureFixture, words: list[str], secret: str
) -> None:
    first, *others = words
    said, kept = (f"{first} {hidden}, {' and '.join(others)}." for hidden in (secret, MARKER))
    privacy = make_privacy(SETTINGS)
    ref = hashlib.sha256(said.encode()).hexdigest()[:12]
    teller = Teller([], [secret], said)
    async with fresh_database(postgres) as dsn, staged(dsn, opa, tmp_path, teller, caplog, privacy) as bare:
        stage, bench = replace(bare, given=dict.fromkeys(HIDDEN, "0d1c2b3a4f5e")), bare.bench
        run_id = (await bench.start("bench.private", {"case": f"case-{ref}", **stage.given}, ref=ref)).run_id
        await bench.settle()
        await stage.answer("ask", ProgressPayload, message=said)
        await bench.later(minutes=3)
        await stage.decide(said)
        await stage.answer("ask", CompletionPayload, outcome="failed", error=said)
        await bench.later(days=2)
        while await stage.sealer():
            pass
        places = {place: read(text) for place, text in (await stage.places()).items() if place not in WORKED_WITH}
        (bundle,) = (tmp_path / "evidence").rglob(f"{run_id}.zip")
        places["report"] = read(report_on(bundle, None).page.decode())
    record = logging.LogRecord("countersign", logging.ERROR, __file__, 1, "refused: %s", (said,), None)
    places["log"] += Cleaned(logging.Formatter("%(message)s"), privacy).format(record)
    silent = [sink for sink in SINKS if not any(sink in place and kept in text for place, text in places.items())]
    assert silent == [], kept
    assert leaks(places, [secret]) == []
