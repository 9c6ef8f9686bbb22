"""OPA as a supervised child on a Unix socket, serving policies and following its changes (embedded mode)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Self

import aiohttp

from countersign.embedded.children import Child, ChildError, Supervisor, new_nonce
from countersign.embedded.home import HomeError
from policy.address import socket_path, socket_url
from policy.bundle import Bundle, PolicyFolders, build_bundle
from policy.contract import PolicyUnavailableError
from policy.errors import PolicyError
from policy.keys import ALGORITHM, PolicyKey, load_or_create
from policy.signing import sign_bundle
from policy.transport import connect
from policy.verifying import verify_bundle
from policy.vetting import vet_binary, vet_bundle
from receipts.signing import public_path

_log = logging.getLogger(__name__)

_BUNDLE, _SERVED, _CURRENT = "bundle.tar.gz", "served", "current"
_REFUSED = "refused.txt"
_ROOM = {"GOGC": "400"}  # evaluation makes much garbage and keeps little: a fifth as many collections
_STOP_LIMIT, _ANSWER_LIMIT, _LONGEST_PAUSE = 5.0, 10.0, 30.0  # seconds

BundleInForce = Callable[[], Awaitable[tuple[str, bytes] | None]]
"""Returns digest and signed bundle of the policy version in force, None without one; raises OSError if unknown."""


@dataclass(frozen=True)
class _Version:
    """The policy version in force, as it was signed. People have agreed to it, so that it is not vetted again."""

    revision: str
    data: bytes


class OpaChild:
    """OPA for as long as the context lasts; it answers at `url`, our user alone, also when it was started again.

    Once it is told how to find the version in force (`follow_versions`) and there is one, that is served. Until then
    the folders are read every `poll` seconds. A change that stays is bundled, signed, vetted and given to a new `opa`
    process, which verifies it and then takes the place of the one before: that one answers until then, so that either
    the old policy is served or the new one whole. OPA verifies at its start alone; were it told to watch the bundle, it
    would load a replaced bundle without verifying it. What does not pass is logged once and said in a file
    (`why_refused`), and the old one stays.
    """

    def __init__(
        self,
        opa: Path,
        policies: PolicyFolders,
        work: Path,
        supervisor: Supervisor,
        *,
        key: Path,
        poll: float = 0.5,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Prepare an OPA that takes what `key`, a file that is made if absent, has signed."""
        self._opa = opa.absolute()
        self._policies = policies
        self._work = work.absolute()
        self._key_file = key.absolute()
        self._poll, self._sleep = poll, sleep
        self.url = _address(_socket(self._work))
        self._supervisor = supervisor
        self._child: Child | None = None
        self._before: Child | None = None
        self._serving, self._following = AsyncExitStack(), AsyncExitStack()
        self._in_force: BundleInForce | None = None
        self._names, self._own = cycle("0123456789"), ""  # of processes, and that of the one that answers now
        self._revision = ""  # of the policy that is served
        self._told = ""  # why the changed policy is not

    def follow_versions(self, in_force: BundleInForce) -> None:
        """Serve the version in force from now on, if there is one."""
        self._in_force = in_force

    @property
    def revision(self) -> str:
        """The digest of the policy that is served."""
        return self._revision

    @property
    def pid(self) -> int | None:
        """The process that answers now."""
        return self._child.process.pid if self._child and self._child.process else None

    async def __aenter__(self) -> Self:
        """Start serving."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop serving."""
        await self.stop()

    async def start(self) -> None:
        """Serve the folders as they are now, or raise PolicyError if it, or the binary, is not fit for that."""
        self._work.mkdir(parents=True, exist_ok=True)
        await vet_binary(self._opa)
        bundle = await self._found()
        if isinstance(bundle, PolicyError):
            raise bundle
        key = await asyncio.to_thread(load_or_create, self._key_file)
        await self._publish(bundle, key)
        follower = asyncio.create_task(self._follow(bundle.revision, key))
        self._following.push_async_callback(_end, follower)

    async def stop(self) -> None:
        """End the process and what looks after it."""
        await self._following.aclose()
        await self._serving.aclose()
        if self._before:  # whose end may have been cut off
            await self._before.stop()
        _socket(self._work).unlink(missing_ok=True)

    async def _follow(self, handled: str, key: PolicyKey) -> None:
        before, pause = handled, self._poll
        while True:
            await self._sleep(pause)
            try:
                found = await self._found()
            except OSError:  # nobody knows what is in force: what is served stays
                continue
            now = str(found) if isinstance(found, PolicyError) else found.revision
            is_settled = now == before != handled  # twice the same: nothing is being saved just now
            is_done = not is_settled or await self._replace(found, key)
            if is_settled and (is_done or not isinstance(found, _Version)):
                handled = now
            before, pause = now, self._poll if is_done else min(2 * pause, _LONGEST_PAUSE)

    async def _found(self) -> _Version | Bundle | PolicyError:
        version = None if self._in_force is None else await self._in_force()
        return _Version(*version) if version else await asyncio.to_thread(_look, self._policies)

    async def _replace(self, found: _Version | Bundle | PolicyError, key: PolicyKey) -> bool:
        """Serve what was found; return whether it is served, or never will be. Otherwise it may be tried again."""
        try:
            if isinstance(found, PolicyError):
                raise found
            await self._publish(found, key)
        except (PolicyError, ChildError, OSError) as error:
            what = "is invalid" if isinstance(error, PolicyError) else "cannot be served yet"
            if str(error) != self._told:
                _log.error("the changed policy %s, the old one stays active: %s", what, error)
            self._told = str(error)
            with suppress(OSError):  # of a full disk, too: changes are followed all the same
                (self._work / _REFUSED).write_text(f"{self._revision}\n{error}", encoding="utf-8", errors="replace")
            return isinstance(error, PolicyError)
        return True

    async def _publish(self, bundle: Bundle | _Version, key: PolicyKey) -> None:
        candidate = self._work / _BUNDLE
        if isinstance(bundle, _Version):
            verify_bundle(bundle.data, [key.public])
            candidate.write_bytes(bundle.data)
        else:
            candidate.write_bytes(sign_bundle(bundle.text, key).data)
            await vet_bundle(self._opa, bundle, candidate, self._policies.schemas)
        await self._change_process(candidate)
        self._revision, self._told = bundle.revision, ""
        (self._work / _REFUSED).unlink(missing_ok=True)
        _log.info("serving policy %s", bundle.revision)

    async def _change_process(self, bundle: Path) -> None:
        """Start a process, and end the one before when it answers in its place.

        Each has a folder of its own with its bundle, from which it starts again should it die: one that does not come
        up leaves that of the other as it is.
        """
        own = self._work / _SERVED / next(name for name in self._names if name != self._own)
        own.mkdir(parents=True, exist_ok=True)
        bundle.replace(own / _BUNDLE)
        child = self._make_child(new_nonce(), own)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._supervisor.running(child))
            await self._supervisor.until_answers(child)
            child.is_candidate = False
            ended, self._serving = self._serving, stack.pop_all()
            self._before, self._child = self._child, child
            self._own = own.name
            _point(own.with_name(_CURRENT), own.name)
        await ended.aclose()

    def _make_child(self, nonce: str, folder: Path) -> Child:
        own = self._work / f"{folder.name}.sock"  # no longer than the name at which all are asked
        url = _address(own)

        async def probe(_: aiohttp.ClientSession) -> bool:
            async with connect(url, _ANSWER_LIMIT) as client:
                try:
                    labels = await client.labels()
                except (PolicyUnavailableError, OSError):  # not yet
                    return False
            is_ours = bool(labels.get("start") == nonce)
            if is_ours:
                own.replace(_socket(self._work))  # from now on it is the one that is asked
            return is_ours

        command: list[str | Path] = [
            self._opa,
            *("run", "--server", "--addr", url, "--unix-socket-perm", "600"),
            *("--log-level", "error", "--skip-version-check"),
            *("--shutdown-grace-period", "1", "--bundle", _BUNDLE),
            *("--verification-key", public_path(self._key_file), "--signing-alg", ALGORITHM),
            # Without a decision log OPA gives no decision ids; `decision_log.rego` keeps the log itself empty.
            *("--set", "decision_logs.console=true", "--set", f"labels.start={nonce}"),
        ]
        # Nothing of ours in the environment, which policies could read.
        log = self._work / "opa.log"
        return Child("opa", command, _ROOM, log, probe, cwd=folder, patience=_STOP_LIMIT, is_candidate=True)


def served_bundle(work: Path) -> Path:
    """Return where the bundle is that an OPA with this folder started from."""
    return work / _SERVED / _CURRENT / _BUNDLE


def _point(link: Path, to: str) -> None:
    """Have a symbolic link lead elsewhere, in one step."""
    new = link.with_name(f"{link.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(to)
    new.replace(link)


def socket_of(work: Path) -> str:
    """Return the address at which the OPA with this folder answers."""
    return socket_url(_socket(work.resolve()))


def _socket(work: Path) -> Path:
    return work / "opa.sock"


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
