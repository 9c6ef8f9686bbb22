"""Names and ports of Compose's networks, of which each leads to a real server of the test."""

import asyncio
import ctypes
import fcntl
import os
import socket
import struct
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

Address = str | tuple[str, int]
"""The path of a socket, or host and port."""

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
        return await asyncio.open_connection(*self.address)

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
        found: list[socket.socket | OSError] = []
        entering = threading.Thread(target=self._listen, args=[peer.port, found])  # the rest of us stays where it is
        entering.start()
        entering.join()
        if isinstance(found[0], OSError):
            raise found[0]
        return found[0]

    def _listen(self, port: int, found: list[socket.socket | OSError]) -> None:
        try:
            with Path(f"/proc/{self._pid}/ns/net").open("rb") as namespace:
                _setns(namespace.fileno())
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
                fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh", b"lo", _UP))
            found.append(socket.create_server(("127.0.0.1", port)))
        except OSError as error:
            found.append(error)


def _setns(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
