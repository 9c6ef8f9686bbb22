"""Where webhooks may go: to the public internet, and into our own network only where that is said."""

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import DefaultResolver

from runtime.handlers import RefusedError

_METADATA = frozenset({"fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"})
"""Where clouds tell machines their secrets, beside the link-local addresses."""

_PROTOCOLS, _SEGMENTS = IPv4Network("192.0.0.0/24"), IPv6Network("5f00::/16")
_NAT64 = IPv6Network("64:ff9b::/96")
_SPELLINGS = tuple(map(IPv6Network, ("::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48")))
"""Where the last four bytes spell an IPv4 address, though few machines take it for that one: RFC 4291, 2765, 8215."""
_ISATAP = (0x5EFE, 0x0200_5EFE)


def may_go_to(address: str, *, inside: bool) -> bool:
    """Return whether a connection to an IP address may be made; `inside` lets private ones and this machine's pass."""
    ip = _reached(ip_address(address))
    if any(_tells_secrets(one) for one in (ip, *_spelled(ip))) or ip.is_multicast or ip.is_unspecified:
        return False
    return inside or (ip.is_global and not _is_beside_the_internet(ip))


def _tells_secrets(ip: IPv4Address | IPv6Address) -> bool:
    return ip.is_link_local or str(ip) in _METADATA


def _spelled(ip: IPv4Address | IPv6Address) -> list[IPv4Address]:
    """Return the IPv4 addresses that an IPv6 one spells for some machine or router, Teredo and ISATAP included."""
    if isinstance(ip, IPv4Address):
        return []
    last = IPv4Address(int(ip) & 0xFFFF_FFFF)
    is_spelled = any(ip in network for network in _SPELLINGS) or int(ip) >> 32 & 0xFFFF_FFFF in _ISATAP
    return [*(ip.teredo or ()), *([last] if is_spelled else ())]


def _is_beside_the_internet(ip: IPv4Address | IPv6Address) -> bool:
    """Return whether nothing of the internet stands there, though it is not registered as private.

    IPv6 addresses of old kinds, of which some name IPv4 ones (``::a.b.c.d``, RFC 4291, 2.5.5.1; SIIT, RFC 2765), those
    of sites (RFC 3879), of local NAT64 (RFC 8215) and of segment routing (RFC 9602); IPv4 ones of no use (RFC 6890).
    """
    if isinstance(ip, IPv4Address):
        return ip.is_reserved or ip in _PROTOCOLS
    return ip.is_reserved or ip.is_site_local or ip in _SEGMENTS


def _reached(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 one stands for (mapped, 6to4 or NAT64), else the address itself."""
    if isinstance(ip, IPv4Address):
        return ip
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFF_FFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip


class GuardedResolver(AbstractResolver):
    """Looks up a host's addresses, and gives those alone to which a connection may be made: right before it is."""

    def __init__(self, *, inside: bool) -> None:
        self._inside = inside
        self._dns = DefaultResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses; raise RefusedError where there are some, and none of them may be gone to."""
        found: Sequence[ResolveResult] = await self._dns.resolve(host, port, family)
        allowed = [one for one in found if may_go_to(one["host"], inside=self._inside)]
        if found and not allowed:
            raise RefusedError(f"{host} stands at an address to which no webhook may go")
        return allowed

    async def close(self) -> None:
        """Let go of what looks up."""
        await self._dns.close()
