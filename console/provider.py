"""The identity provider with whose accounts people sign in: OpenID Connect, by code with PKCE (S256) and a nonce.

What it says counts only as an ID token that is signed with a key of its own, for this client and this sign-in.
"""

from typing import Annotated, Any, NamedTuple

import httpx2
from authlib.integrations.base_client import OAuthError
from authlib.integrations.starlette_client import StarletteOAuth2App
from joserfc.errors import JoseError
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from runtime.model.console import SLACK, ProviderAccount
from runtime.model.limits import first_line

_SECONDS = 5.0
"""How long the provider may take to answer."""
_SIGNED_BY = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
"""Algorithms with which ID tokens may be signed: those with a public key."""


_TEAM = "https://slack.com/team_id"
_FAULTS = (httpx2.HTTPError, httpx2.InvalidURL, OAuthError, JoseError, ValueError, RuntimeError)
_MALFORMED = (TypeError, AttributeError, KeyError)
"""What libraries raise where a provider's JSON has another form than it should."""


class ProviderError(Exception):
    """The provider does not answer as it should; the message says how."""


class Began(NamedTuple):
    """A sign-in that has begun: where the browser goes, and what the provider's answer has to fit."""

    url: str
    state: str
    nonce: str
    verifier: str


class Claims(BaseModel):
    """The claims of an ID token that are read; others are left."""

    model_config = ConfigDict(extra="ignore", strict=True)

    iss: str
    sub: Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e]{1,255}$")]
    email: Annotated[str, StringConstraints(max_length=254)] | None = None
    email_verified: Any = False  # some say "true": only `true` is a yes

    team: Annotated[str, StringConstraints(pattern=r"^[A-Z0-9]{1,30}$")] | None = Field(None, alias=_TEAM)

    def account(self) -> ProviderAccount:
        """Return the account; one of Slack is named by its workspace, too. Raise ValueError where that is missing."""
        subject = self.sub
        if self.iss == SLACK:
            if self.team is None:
                raise ValueError("its ID token names no workspace")
            subject = f"{self.team}/{self.sub}"
        return ProviderAccount(self.iss, subject, self.email or "", self.email_verified is True)


class Provider:
    """One client of one identity provider, which describes itself below its issuer (OpenID Connect Discovery)."""

    def __init__(self, issuer: str, client_id: str, client_secret: str, callback: str) -> None:
        self.issuer = issuer
        self._client_id = client_id
        self._callback = callback
        self._app: Any = StarletteOAuth2App(
            None,
            client_id=client_id,
            client_secret=client_secret,
            server_metadata_url=f"{issuer.rstrip('/')}/.well-known/openid-configuration",
            client_kwargs={"scope": "openid email", "code_challenge_method": "S256", "timeout": _SECONDS},
        )

    async def begin(self) -> Began:
        """Return a sign-in that begins now; raise ProviderError."""
        try:
            await self._describe()
            began = await self._app.create_authorization_url(self._callback)
        except _FAULTS as error:
            raise ProviderError(first_line(error)) from error
        except _MALFORMED as error:
            raise ProviderError("it does not describe itself as a provider does") from error
        return Began(began["url"], began["state"], began["nonce"], began["code_verifier"])

    async def finish(self, code: str, verifier: str, nonce: str) -> ProviderAccount:
        """Return the account that the provider gives for a code; raise ProviderError."""
        expected = {
            "iss": {"essential": True, "value": self.issuer},
            "aud": {"essential": True, "value": self._client_id},
        }
        try:
            await self._describe()
            token = await self._app.fetch_access_token(self._callback, code=code, code_verifier=verifier)
            claims = await self._app.parse_id_token(token, nonce, expected)
            if claims is None:
                raise ProviderError("it gave no ID token")
            return Claims.model_validate(dict(claims)).account()
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)[0]
            raise ProviderError(f"its ID token: {'.'.join(map(str, found['loc']))}: {found['msg']}") from error
        except _FAULTS as error:
            raise ProviderError(first_line(error)) from error
        except _MALFORMED as error:
            raise ProviderError("its answer has another form than it should") from error

    async def _describe(self) -> None:
        """Read how the provider describes itself, once; raise ProviderError unless it is the issuer that it has to be.

        Only algorithms with public keys stay: a token that is signed by a secret, or not at all, is refused.
        """
        said = await self._app.load_server_metadata()
        if said.get("issuer") != self.issuer:
            said.pop("_loaded_at", None)
            raise ProviderError("it describes itself as another issuer")
        offered = said.get("id_token_signing_alg_values_supported") or ["RS256"]
        said["id_token_signing_alg_values_supported"] = sorted(_SIGNED_BY.intersection(offered)) or ["RS256"]
