"""A container of docker-compose.yml run without Docker, and the names and ports of its networks.

Runs a container of docker-compose.yml without Docker: as its user, with its read-only root and its mounts.

As root on Linux it is a mount and a network namespace: a root of its own, on which the checkout stands where the image
has it, and in which services have Compose's names and ports; the environment is exactly Compose's. Where the kernel
allows no namespace, it is a tree in which the user can change nothing but the volumes: paths and addresses in the
environment are then those of the tree, and so are secrets, which the program reads at one place only. `WAY` says which.

Names and ports of Compose's networks, of which each leads to a real server of the test.
"""

import asyncio
import ctypes
import fcntl
import os
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import threading
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import cast

from countersign.embedded.ports import free_port
from countersign.settings import ROOT
from tests.forked import Forked
from tests.integration.compose_file import Container, Mount, read_image
from tests.integration.program_stage import Finished, Program
from tests.opa_server import opa_program
from tests.patience import MINUTE

Address = str | tuple[str, int] | Callable[[], socket.socket]
"""The path of a socket, host and port, or what connects."""

_NEWNET, _SET_FLAGS, _UP = 0x40000000, 0x8914, 1


@dataclass(frozen=True)
class Peer:
    """A service that containers on its network reach by its name at a port, and where it really listens."""

    name: str
    port: int
    network: str
    address: Address


@asynccontextmanager
async def relayed(peers: Sequence[Peer], listen: Callable[[Peer], socket.socket]) -> AsyncIterator[list[int]]:
    """Relay what is sent to each peer, heard at what `listen` returns; give the ports at which they are heard."""
    ports = []
    async with AsyncExitStack() as stack:
        for peer in peers:
            listener = listen(peer)
            ports.append(int(listener.getsockname()[1]))
            relay = _Relay(peer.address)
            stack.push_async_callback(relay.end)
            await stack.enter_async_context(await asyncio.start_server(relay, sock=listener))
        yield ports


@dataclass(frozen=True)
class _Relay:
    address: Address
    _carrying: set[asyncio.Task[None]] = field(default_factory=set)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry bytes both ways until each side has no more."""
        try:
            there, back = await self._connected()
        except OSError:
            writer.close()
            return
        both = [asyncio.create_task(_carry(reader, back)), asyncio.create_task(_carry(there, writer))]
        self._carrying.update(both)
        await asyncio.wait(both)
        self._carrying.difference_update(both)

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self.address, str):
            return await asyncio.open_unix_connection(self.address)
        if isinstance(self.address, tuple):
            return await asyncio.open_connection(*self.address)
        return await asyncio.open_connection(sock=self.address())

    async def end(self) -> None:
        """Cut off what is still connected."""
        for task in self._carrying:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # the other side is gone
    finally:
        writer.close()


def on_loopback(_peer: Peer) -> socket.socket:
    """Listen at a free port of this machine."""
    return socket.create_server(("127.0.0.1", 0))


class Network:
    """The network namespace of a process, whose loopback is switched on."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def listen(self, peer: Peer) -> socket.socket:
        """Listen there, at the port of the peer."""
        return self._made(lambda: socket.create_server(("127.0.0.1", peer.port)))

    def dial(self) -> socket.socket:
        """Connect to what the container serves."""
        return self._made(lambda: socket.create_connection(("127.0.0.1", PORT)))

    def _made(self, make: Callable[[], socket.socket]) -> socket.socket:
        found: list[socket.socket | OSError] = []
        entering = threading.Thread(target=self._enter, args=[make, found])  # the rest of us stays where it is
        entering.start()
        entering.join()
        if isinstance(found[0], OSError):
            raise found[0]
        return found[0]

    def _enter(self, make: Callable[[], socket.socket], found: list[socket.socket | OSError]) -> None:
        try:
            with Path(f"/proc/{self._pid}/ns/net").open("rb") as namespace:
                _setns(namespace.fileno())
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
                fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", _UP))
            found.append(make())
        except OSError as error:
            found.append(error)


def _setns(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


PORT = 8080
"""Where each container that serves listens."""
CGROUP = "/sys/fs/cgroup"
SYSTEM = ("usr", "bin", "sbin", "lib", "lib64", "etc/ssl", "etc/ld.so.cache", "etc/localtime", "etc/nsswitch.conf")
DEVICES = ("null", "zero", "random", "urandom")
PATH = f"{Path(sys.executable).parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
IMAGE = read_image()
HOME = "/home/countersign"
"""What Docker sets, as the user's entry says; the folder is not made."""
ENTER = 'cd "$1" && shift && exec "$@"'


def _way() -> str:
    if os.geteuid() != 0 or "COUNTERSIGN_TEST_NO_NAMESPACE" in os.environ:
        return "a tree that the user cannot write to"
    tried = subprocess.run(["unshare", "--mount", "--net", "true"], check=False, capture_output=True)
    return "a mount namespace" if tried.returncode == 0 else "a tree that the user cannot write to"


WAY = _way()
HAS_NAMESPACES = WAY == "a mount namespace"


@dataclass(frozen=True)
class Inside:
    """A container that runs, how a command is run in it, and where it is reached."""

    container: Container
    process: Process
    enter: Callable[[int], list[str]]
    address: Address

    async def serves(self) -> int:
        """Read its log until each of its processes serves; return how many there are."""
        program, wanted, serving = Program(cast("Forked", self.process)), 1, 0
        while serving < wanted:
            said = (await program.said("serving"))["message"]
            serving += said.startswith("serving: ")
            if many := re.match(r"serving in (\d+) processes", said):
                wanted = int(many[1])
        return wanted

    async def run(self, *words: str, stdin: str = "") -> Finished:
        """Run a command in the container, as `docker compose exec` does."""
        process = await _launched([*self.enter(self.process.pid), *words], self.container, PIPE)
        async with asyncio.timeout(MINUTE):
            out, err = await process.communicate(stdin.encode())
        return Finished(cast("int", process.returncode), out.decode(), err.decode())

    async def probe(self) -> int:
        """Run its health check; return the status."""
        kind, *words = self.container.probe
        assert kind == "CMD"
        return (await self.run(*words)).code

    def memory(self) -> dict[int, int]:
        """Return the bytes of each process: its own pages, and its part of those that several have."""
        return {pid: _proportional(pid) for pid in _family(self.process.pid)}


@asynccontextmanager
async def running(container: Container, peers: Sequence[Peer], limits: Path) -> AsyncIterator[Inside]:
    """Run a container. `limits` is the folder of its cgroup. What is left of it is killed at the end."""
    reached = [peer for peer in peers if peer.network in container.networks]
    start = _in_namespace if HAS_NAMESPACES else _in_tree
    async with start(container, reached, limits) as inside:
        try:
            yield inside
        finally:
            if inside.process.returncode is None:
                inside.process.kill()
            await inside.process.communicate()


async def _launched(words: Sequence[str], container: Container, stdin: int, **more: object) -> Process:
    env = {"PATH": PATH, "HOME": HOME, **container.env}
    return await asyncio.create_subprocess_exec(*words, env=env, stdin=stdin, stdout=PIPE, stderr=PIPE, **more)  # type: ignore[arg-type]  # a library's


# A mount namespace.


@asynccontextmanager
async def _in_namespace(container: Container, peers: Sequence[Peer], limits: Path) -> AsyncIterator[Inside]:
    """Start it behind its own root, once its peers can be reached."""
    root = Path(mkdtemp(prefix="container-"))
    hosts = "".join(f"127.0.0.1 {name}\n" for name in ("localhost", *(peer.name for peer in peers)))
    mounts = [*container.mounts, Mount(limits, CGROUP, read_only=True)]
    script = "\n".join(
        ["set -eu; umask 022", *_rooted(root, container, mounts, hosts), "read -r _", f'exec {_entering(root)} "$@"']
    )
    words = ["unshare", "--mount", "--net", "sh", "-c", script, "sh", *container.words]
    try:
        process = await _launched(words, container, PIPE)
        network = Network(await _unshared(process))
        async with relayed(peers, network.listen):
            assert process.stdin
            process.stdin.write(b"\n")
            yield Inside(container, process, _exec(container.user), network.dial)
    finally:
        root.rmdir()  # what was mounted there was so in the namespace alone


async def _unshared(process: Process) -> int:
    """Wait until a process has a network of its own; return its id."""
    ours, its = Path("/proc/self/ns/net").readlink(), Path(f"/proc/{process.pid}/ns/net")
    async with asyncio.timeout(MINUTE):
        while process.returncode is None and its.readlink() == ours:
            await asyncio.sleep(0.01)
    return process.pid


def _rooted(root: Path, container: Container, mounts: Sequence[Mount], hosts: str) -> Iterator[str]:
    """Yield the shell commands that make the root of a container."""
    yield f"mount -t tmpfs -o mode=755 root {root}"
    for folder in ("proc", "dev/shm", "etc", "run/secrets", *IMAGE.folders, *container.tmpfs):
        yield f"mkdir -p {root}/{folder.lstrip('/')}"
    yield f"mount -t proc proc {root}/proc"
    for folder in container.tmpfs:
        yield f"mount -t tmpfs -o mode=1777,nosuid,nodev,noexec tmp {root}{folder}"
    yield f"mount -t tmpfs -o mode=1777,nosuid,nodev,noexec,size=64m shm {root}/dev/shm"  # noqa: S108 - of a container
    yield f"printf %s {shlex.quote(hosts)} >{root}/etc/hosts"
    yield f"echo countersign:x:{container.user}:{container.user}::{HOME}:/bin/false >{root}/etc/passwd"
    for mount in (*_of_host(), *_of_image(), *mounts):
        yield from _bound(root, mount)
    yield f"mount -o remount,ro {root}"


def _of_host() -> Iterator[Mount]:
    """Yield what the image's base has: the system, devices and Python with its libraries."""
    for name in SYSTEM:
        path = Path("/", name)
        if path.exists():
            yield Mount(path.resolve(), str(path), read_only=True)
    for name in DEVICES:
        yield Mount(Path("/dev", name), f"/dev/{name}", read_only=False)
    for prefix in {sys.base_prefix, sys.prefix}:
        if not prefix.startswith("/usr"):
            yield Mount(Path(prefix), prefix, read_only=True)


def _of_image() -> Iterator[Mount]:
    """Yield what the image copies, where it is there, and where the program of the tests' Python looks for it."""
    yield Mount(opa_program(), IMAGE.opa, read_only=True)
    for name in IMAGE.copied:
        for folder in (IMAGE.folder, str(ROOT)):
            yield Mount(ROOT / name, f"{folder}/{name}", read_only=True)


def _bound(root: Path, mount: Mount) -> Iterator[str]:
    source, target = shlex.quote(str(mount.source)), shlex.quote(f"{root}{mount.target}")
    made = f"mkdir -p {target}" if mount.source.is_dir() else f"mkdir -p $(dirname {target}) && touch {target}"
    yield f"{made} && mount --bind {source} {target}"
    if mount.read_only:
        yield f"mount -o remount,bind,ro {target}"


def _entering(root: Path | str) -> str:
    return shlex.join(["chroot", str(root), *_as_user(IMAGE.user)])


def _as_user(user: int) -> list[str]:
    """Return what runs a command as a user without any right, in the image's folder."""
    rights = ("--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")
    return ["setpriv", f"--reuid={user}", f"--regid={user}", *rights, "sh", "-c", ENTER, "sh", IMAGE.folder]


def _exec(user: int) -> Callable[[int], list[str]]:
    return lambda pid: ["nsenter", f"--target={pid}", "--mount", "--net", "--root", "--wd", *_as_user(user)]


# A tree.


@asynccontextmanager
async def _in_tree(container: Container, peers: Sequence[Peer], limits: Path) -> AsyncIterator[Inside]:
    """Start it in a folder that holds what the image has, and in which it can change nothing."""
    tree = Path(mkdtemp(prefix="container-"))
    for name in IMAGE.copied:
        (tree / name).symlink_to(ROOT / name)
    tree.chmod(0o555)
    user = {"user": IMAGE.user, "group": IMAGE.user, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        async with relayed(peers, on_loopback) as ports:
            own = _of_tree(container, dict(zip(peers, ports, strict=True)), limits)
            process = await _launched(own.words, own, DEVNULL, cwd=tree, **user)
            yield Inside(own, process, lambda _pid: [], ("127.0.0.1", int(own.env["COUNTERSIGN_PORT"])))
    finally:
        shutil.rmtree(tree)


def _of_tree(container: Container, ports: dict[Peer, int], limits: Path) -> Container:
    """Return the container with the paths, the addresses and the port that it has outside of a namespace."""
    env = {
        mount.target.rpartition("/")[2].upper(): mount.source.read_text(encoding="utf-8").strip()
        for mount in _secret(container)
    }
    listens = str(free_port())
    swaps = {
        **{f"{peer.name}:{peer.port}": f"127.0.0.1:{port}" for peer, port in ports.items()},
        **{mount.target: str(mount.source) for mount in container.mounts},
        IMAGE.folder: str(ROOT),
        IMAGE.opa: str(opa_program()),
        f"127.0.0.1:{PORT}": f"127.0.0.1:{listens}",
    }
    place = re.compile(
        "|".join(rf"(?<![\w/.]){re.escape(old)}(?!\w)" if old[0] == "/" else re.escape(old) for old in swaps)
    )

    def swapped(text: str) -> str:
        return place.sub(lambda found: swaps[found[0]], text)

    env |= {"COUNTERSIGN_PORT": listens, "COUNTERSIGN_HOST": "127.0.0.1", "COUNTERSIGN_CGROUP": str(limits)}
    env = {name: swapped(value) for name, value in (container.env | env).items()}
    return replace(container, env=env, words=[*map(swapped, container.words)], probe=[*map(swapped, container.probe)])


def _secret(container: Container) -> list[Mount]:
    return [mount for mount in container.mounts if mount.target.startswith("/run/secrets/")]


# Memory.


def _family(pid: int) -> Iterator[int]:
    """Yield a process and all that it has started."""
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
        yield from _family(int(child))


def _proportional(pid: int) -> int:
    rolled = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return int(re.findall(r"^Pss:\s+(\d+) kB$", rolled, re.MULTILINE)[0]) * 1024
