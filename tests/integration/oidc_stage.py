"""Identity providers of tests: a real one on loopback, and a hostile one that signs whatever it is told."""

import asyncio
import re
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
from aiohttp import web
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from tests.integration.console_stage import Shown, Visitor
from tests.patience import until

CLIENT = "console"


@dataclass(frozen=True)
class RealProvider:
    """A provider that runs as a process of its own."""

    issuer: str
    http: aiohttp.ClientSession = field(repr=False)

    async def knows(self, subject: str, **claims: object) -> None:
        """Give somebody an account."""
        async with self.http.put(f"{self.issuer}/users/{subject}", json=claims) as answer:
            answer.raise_for_status()

    async def leads(self, visitor: Visitor, subject: str) -> Shown:
        """Sign in at the provider as somebody, and go back with the browser; return what the console shows."""
        begun = await visitor.get("/sign-in")
        assert begun.status == 302, begun.text
        data = {"sub": subject}
        async with self.http.post(begun.headers["Location"], data=data, allow_redirects=False) as answer:
            assert answer.status == 302, await answer.text()
            return await visitor.get(callback_of(answer.headers["Location"]))


def callback_of(location: str) -> str:
    """Return the path below the console to which a provider leads back."""
    found = re.search(r"/console(/callback\?.*)", location)
    assert found, location
    return found[1]


@asynccontextmanager
async def real_provider() -> AsyncIterator[RealProvider]:
    """Run a provider until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    issuer = f"http://localhost:{port}"  # another site than the console's
    command = (sys.executable, "-m", "oidc_provider_mock", "--port", str(port))
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdout=quiet, stderr=quiet)
    try:
        async with aiohttp.ClientSession() as http:

            async def answers() -> bool:
                try:
                    async with http.get(f"{issuer}/.well-known/openid-configuration") as answer:
                        return answer.status == 200
                except aiohttp.ClientError:
                    return False

            await until(answers)
            yield RealProvider(issuer, http)
    finally:
        process.terminate()
        await process.wait()


@dataclass
class HostileProvider:
    """A provider whose ID tokens, and what it says of itself, a test forges."""

    issuer: str = ""
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "k1"}))
    claims: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=lambda: {"alg": "RS256", "kid": "k1"})
    signs_with: Any = None
    tokens: dict[str, Any] | None = None
    nonces: list[str] = field(default_factory=list)

    def token(self) -> str:
        """Return the ID token, of Ann unless the test says otherwise."""
        now = int(time.time())
        said = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "s-ann",
            "iat": now,
            "exp": now + 60,
            "nonce": self.nonces[-1],
        }
        claims = {name: value for name, value in {**said, **self.claims}.items() if value is not None}
        return jwt.encode(self.header, claims, self.signs_with or self.key)

    async def leads(self, visitor: Visitor, more: str = "", *, state: str | None = None) -> Shown:
        """Begin in a browser and go back with a code; return what the console shows."""
        begun = await visitor.get("/sign-in")
        asked = parse_qs(urlsplit(begun.headers["Location"]).query)
        assert (asked["response_type"], asked["code_challenge_method"]) == (["code"], ["S256"])
        self.nonces.append(asked["nonce"][0])
        return await visitor.get(f"/callback?code=c&state={state or asked['state'][0]}{more}")

    async def describe(self, _: web.Request) -> web.Response:
        """Say what it is."""
        said = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        }
        return web.json_response({**said, **self.metadata})

    async def keys(self, _: web.Request) -> web.Response:
        """Give its public key."""
        return web.json_response({"keys": [self.key.as_dict(is_private=False)]})

    async def give(self, _: web.Request) -> web.Response:
        """Give tokens for a code."""
        usual: Mapping[str, Any] = {"access_token": "a", "token_type": "Bearer", "id_token": self.token()}
        return web.json_response(self.tokens if self.tokens is not None else usual)


@asynccontextmanager
async def hostile_provider() -> AsyncIterator[HostileProvider]:
    """Serve a hostile provider until the block ends."""
    provider = HostileProvider()
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", provider.describe)
    app.router.add_get("/jwks", provider.keys)
    app.router.add_post("/token", provider.give)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    provider.issuer = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield provider
    finally:
        await runner.cleanup()


def shared_secret(text: str) -> OctKey:
    """Return a key for signatures by a secret."""
    return OctKey.import_key(text)
