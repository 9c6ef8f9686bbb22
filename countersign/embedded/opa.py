"""OPA as a supervised child on a Unix socket, serving policies and following its changes (embedded mode)."""

import asyncio
import logging
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Self

import aiohttp

from countersign.embedded.children import Child, Supervisor, new_nonce
from countersign.embedded.home import HomeError
from policy.address import socket_path, socket_url
from policy.bundle import Bundle, PolicyFolders, build_bundle
from policy.contract import PolicyUnavailableError
from policy.errors import PolicyError
from policy.transport import connect
from policy.vetting import vet_binary, vet_bundle

_log = logging.getLogger(__name__)

_BUNDLE = "bundle.tar.gz"
_REFUSED = "refused.txt"
_ROOM = {"GOGC": "400"}  # evaluation makes much garbage and keeps little: a fifth as many collections
_STOP_LIMIT, _ANSWER_LIMIT = 5.0, 10.0  # seconds


class OpaChild:
    """One `opa` process for as long as the context lasts; it answers at `url`, our user alone, also when restarted.

    The folders are read every `poll` seconds. A change that stays is bundled, vetted and then swapped in with one
    rename, so that OPA serves either the old policy or the new one whole. What does not pass is logged once and said in
    a file (`why_refused`), and the old one stays.
    """

    def __init__(
        self, opa: Path, policies: PolicyFolders, work: Path, supervisor: Supervisor, *, poll: float = 0.5
    ) -> None:
        self._opa = opa.absolute()
        self._policies = policies
        self._work = work.absolute()
        self._served = self._work / "served"
        self._poll = poll
        self.url = _address(self._work / "opa.sock")
        self._supervisor = supervisor
        self._child = self._make_child(new_nonce())
        self._running = AsyncExitStack()
        self._revision = ""  # of the policy that is served

    @property
    def pid(self) -> int | None:
        """The process that answers now."""
        return self._child.process.pid if self._child.process else None

    async def __aenter__(self) -> Self:
        """Start the child."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop the child."""
        await self.stop()

    async def start(self) -> None:
        """Serve the folders as they are now, or raise PolicyError if it, or the binary, is not fit for that."""
        self._served.mkdir(parents=True, exist_ok=True)
        await vet_binary(self._opa)
        bundle = build_bundle(self._policies)
        await self._publish(bundle)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._supervisor.running(self._child))
            await self._supervisor.until_answers(self._child)
            follower = asyncio.create_task(self._follow(bundle.revision))
            stack.push_async_callback(_end, follower)
            self._running = stack.pop_all()

    async def stop(self) -> None:
        """End the child and what looks after it."""
        await self._running.aclose()

    async def _follow(self, handled: str) -> None:
        before = handled
        while True:
            await asyncio.sleep(self._poll)
            found = await asyncio.to_thread(_look, self._policies)
            now = found.revision if isinstance(found, Bundle) else str(found)
            if now == before != handled:  # twice the same: nothing is being saved just now
                handled = now
                await self._replace(found)
            before = now

    async def _replace(self, found: Bundle | PolicyError) -> None:
        try:
            if isinstance(found, PolicyError):
                raise found
            await self._publish(found)
        except (PolicyError, OSError) as error:
            _log.error("the changed policy is invalid, the old one stays active: %s", error)
            with suppress(OSError):  # of a full disk, too: changes are followed all the same
                (self._work / _REFUSED).write_text(f"{self._revision}\n{error}", encoding="utf-8", errors="replace")

    async def _publish(self, bundle: Bundle) -> None:
        candidate = self._work / _BUNDLE
        candidate.write_bytes(bundle.data)
        await vet_bundle(self._opa, bundle, candidate, self._policies.schemas)
        candidate.replace(self._served / _BUNDLE)
        self._revision = bundle.revision
        (self._work / _REFUSED).unlink(missing_ok=True)
        _log.info("serving policy %s", bundle.revision)

    def _make_child(self, nonce: str) -> Child:
        async def probe(_: aiohttp.ClientSession) -> bool:
            async with connect(self.url, _ANSWER_LIMIT) as client:
                try:
                    labels = await client.labels()
                except (PolicyUnavailableError, OSError):  # not yet
                    return False
            return bool(labels.get("start") == nonce)

        command: list[str | Path] = [
            self._opa,
            *("run", "--server", "--addr", self.url, "--unix-socket-perm", "600"),
            *("--log-level", "error", "--skip-version-check"),
            *("--shutdown-grace-period", "1", "--watch", "--bundle", _BUNDLE),
            # Without a decision log OPA gives no decision ids; `decision_log.rego` keeps the log itself empty.
            *("--set", "decision_logs.console=true", "--set", f"labels.start={nonce}"),
        ]
        # Nothing of ours in the environment, which policies could read. A folder of its own: --watch would follow a
        # log in it.
        return Child("opa", command, _ROOM, self._work / "opa.log", probe, cwd=self._served, patience=_STOP_LIMIT)


def why_refused(work: Path, served: str) -> str:
    """Return why the policy in the folders is not the one that is served, by its digest; "" where it is.

    `work` is the folder of the child, or one in which no child has worked.
    """
    try:
        revision, _, why = (work / _REFUSED).read_text(encoding="utf-8").partition("\n")
    except FileNotFoundError:
        return ""
    return why if revision == served else ""


def _address(socket: Path) -> str:
    url = socket_url(socket)
    try:
        socket_path(url)
    except ValueError as error:
        raise HomeError(f"{socket} {error}; name a shorter home with COUNTERSIGN_HOME") from error
    return url


def _look(policies: PolicyFolders) -> Bundle | PolicyError:
    try:
        return build_bundle(policies)
    except PolicyError as error:
        return error


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
