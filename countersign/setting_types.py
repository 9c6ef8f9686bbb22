"""What a setting may be: long enough secrets, addresses of the right form. Faults are said without the value.

Libraries that parse the URL of a PostgreSQL database quote what they stumble over, which may be part of the password.
So the URL is checked here before they see it, and an error quotes no character of it.
"""

import re
from typing import Annotated
from urllib.parse import urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from policy.address import socket_path
from receipts.privacy import SHORTEST_SECRET, TOO_SHORT, passwords_in

FORM = "postgresql://USER:PASSWORD@HOST:PORT/NAME"

_WHITE = re.compile(r"[\x00-\x20\x7f-\xa0]")
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLACE = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(:[0-9]{0,5})?")


def check_dsn(url: str) -> None:
    """Raise ValueError that says what is wrong, and how the character at fault is written, and nothing of the value."""
    if not url.startswith(("postgresql://", "postgres://")):
        raise ValueError(f"is not {FORM}")
    if _WHITE.search(url):
        raise ValueError("holds a space or a control character; write a space as %20")
    if _BROKEN.search(url):
        raise ValueError("holds a % that stands for nothing; write % itself as %25")
    if url.count("@") > 1:
        raise ValueError("holds more than one @; in a password write @ as %40")
    _, at, place = _authority(url).rpartition("@")
    if not _PLACE.fullmatch(place) or ("@" in url and not at):
        raise ValueError("its host or port is not one; in a password write / as %2F and ? as %3F")
    try:
        conninfo_to_dict(url)
    except psycopg.Error:
        raise ValueError(f"is not {FORM} as PostgreSQL's own library reads it") from None


def _authority(url: str) -> str:
    """Return what stands between the slashes, as PostgreSQL's library finds it."""
    return re.split(r"[/?]", url.partition("://")[2], maxsplit=1)[0]


def _database(url: SecretStr) -> SecretStr:
    check_dsn(url.get_secret_value())
    if any(len(password) < SHORTEST_SECRET for password in passwords_in(url.get_secret_value())):
        raise ValueError(f"its password {TOO_SHORT}")
    return url


def _http(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query:
        raise ValueError("is not http(s)://HOST, without credentials and query")
    return url


def _server(url: str) -> str:
    if urlsplit(_http(url)).path not in ("", "/"):
        raise ValueError("is not http(s)://HOST:PORT, without a path")
    return url


def _opa(url: str) -> str:
    return url if socket_path(url) else _server(url)


def _base(url: str) -> str:
    if not _http(url).endswith("/"):
        raise ValueError("does not end with a slash")
    return url


def _origin(url: str) -> str:
    """Refuse where browsers let nobody use a passkey."""
    from receipts.passkey_records import ORIGIN

    if not re.match(ORIGIN, url):
        raise ValueError("is not https://HOST or https://HOST:PORT (http:// for localhost alone), in small letters")
    return url


def _issuer(url: str) -> str:
    parts = urlsplit(_http(url))
    if parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise ValueError("is not https:// (http:// for localhost alone)")
    return url


def _domain(name: str) -> str:
    if not re.fullmatch(r"(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+", name):
        raise ValueError("is no domain in small letters, such as bank.example")
    return name


def _secret(shortest: int) -> AfterValidator:
    def check(secret: SecretStr) -> SecretStr:
        if len(secret.get_secret_value()) < shortest:
            raise ValueError(TOO_SHORT if shortest == SHORTEST_SECRET else f"has fewer than {shortest} characters")
        return secret

    return AfterValidator(check)


def _token(secret: SecretStr) -> SecretStr:
    """Refuse what goes into no header: libraries quote it when they find out."""
    if not re.fullmatch(r"[!-~]+", secret.get_secret_value()):
        raise ValueError("holds a space, a line break or another character that no token has")
    return secret


def _vault_key(secret: SecretStr) -> SecretStr:
    from receipts.vault import parse_key

    parse_key(secret.get_secret_value())
    return secret


def _webhook_secret(secret: SecretStr) -> SecretStr:
    from edge.signing import webhook_secret

    webhook_secret(secret.get_secret_value())
    return secret


def _slashed(prefix: object) -> object:
    return f"{prefix}/" if isinstance(prefix, str) and prefix and not prefix.endswith("/") else prefix


# Anybody can sign with an empty secret, and find a short one by trying.
Secret = Annotated[SecretStr, _secret(SHORTEST_SECRET)]
Token = Annotated[SecretStr, _secret(SHORTEST_SECRET), AfterValidator(_token)]
SigningSecret = Annotated[SecretStr, _secret(20)]
CallerSecret = Annotated[SecretStr, _secret(32)]
TokenKey = Annotated[SecretStr, AfterValidator(_vault_key)]
WebhookSecret = Annotated[SecretStr, AfterValidator(_webhook_secret)]
Word = Annotated[str, Field(min_length=1)]
DatabaseUrl = Annotated[SecretStr, AfterValidator(_database)]
HttpUrl = Annotated[str, AfterValidator(_http)]
OpaUrl = Annotated[str, AfterValidator(_opa)]
BaseUrl = Annotated[str, AfterValidator(_base)]
Origin = Annotated[str, AfterValidator(_origin)]
Issuer = Annotated[str, AfterValidator(_issuer)]
Domain = Annotated[str, AfterValidator(_domain)]
Prefix = Annotated[str, BeforeValidator(_slashed)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
