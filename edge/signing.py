"""Signatures: how callers sign requests, and how we sign webhooks. Pure; the same functions sign and verify requests.

Requests: HMAC-SHA256 over time, method, path and body. Headers: `Countersign-Caller` (an agent of the directory),
`Countersign-Timestamp` (Unix seconds) and `Countersign-Signature`: `v1=` and the hex digest of five lines: `v1`, the
timestamp, the method, the path as sent, with its query string if there is one, and the raw body, which may hold line
breaks of its own.

Webhooks: Standard Webhooks 1.0.0, with the symmetric scheme `v1`. Headers: `webhook-id`, the same for each try;
`webhook-timestamp`, Unix seconds of this try; `webhook-signature`, for each secret `v1,` and the base64 of the
HMAC-SHA256 over id, timestamp and raw body, joined by full stops.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from standardwebhooks.webhooks import Webhook

WINDOW = 300
CALLER, TIMESTAMP, SIGNATURE = "Countersign-Caller", "Countersign-Timestamp", "Countersign-Signature"

_SECONDS = re.compile(rb"[0-9]{1,12}")
_SIGNATURE = re.compile(rb"v1=[0-9a-f]{64}")


def sign(secret: str, timestamp: bytes, method: str, path: bytes, body: bytes) -> str:
    """Return the signature header's value."""
    message = b"\n".join((b"v1", timestamp, method.encode(), path, body))
    return f"v1={hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()}"


def headers(caller: str, secret: str, timestamp: int, method: str, path: str, body: bytes) -> dict[str, str]:
    """Return the three headers of a signed request."""
    stamp = str(timestamp)
    return {
        CALLER: caller,
        TIMESTAMP: stamp,
        SIGNATURE: sign(secret, stamp.encode(), method, path.encode(), body),
    }


@dataclass(frozen=True)
class Claim:
    """What a request's headers say: who signed it, when, and the signature, which is not verified yet."""

    caller: str
    timestamp: bytes
    signature: bytes


def claimed(given: Iterable[tuple[bytes, bytes]], callers: Container[str], now: float) -> Claim | None:
    """Return what the headers claim, or None where no body could make it true: that is known before a body is read.

    1. Each of the three headers stands there exactly once.
    2. The timestamp is a plain decimal number.
    3. It lies within WINDOW seconds of our clock, before or after.
    4. The caller has a secret.
    5. The signature has the form of one.
    """
    given = list(given)
    caller, stamp, signature = (_only(given, name) for name in (CALLER, TIMESTAMP, SIGNATURE))  # 1
    if caller is None or stamp is None or signature is None or not _SECONDS.fullmatch(stamp):  # 1, 2
        return None
    name = caller.decode("ascii", "replace")
    if abs(now - int(stamp)) > WINDOW or name not in callers or not _SIGNATURE.fullmatch(signature):  # 3, 4, 5
        return None
    return Claim(name, stamp, signature)


def is_signed(claim: Claim, secret: str, method: str, path: bytes, body: bytes) -> bool:
    """Return whether the signature is the HMAC with the caller's secret, compared in constant time."""
    expected = sign(secret, claim.timestamp, method, path, body)
    return hmac.compare_digest(expected.encode(), claim.signature)


def _only(given: list[tuple[bytes, bytes]], name: str) -> bytes | None:
    wanted = name.lower().encode()
    values = [value for key, value in given if key.lower() == wanted]
    return values[0] if len(values) == 1 else None


WEBHOOK_PREFIX = "whsec_"
LEAST_SECRET, MOST_SECRET = 24, 64
"""Bytes that a secret may have."""


def webhook_secret(text: str) -> bytes:
    """Return the bytes of a secret as people write it, ``whsec_`` and base64; raise ValueError."""
    try:
        secret = base64.b64decode(text.removeprefix(WEBHOOK_PREFIX), validate=True)
    except binascii.Error:
        raise ValueError(f"is not {WEBHOOK_PREFIX} and base64") from None
    if not (text.startswith(WEBHOOK_PREFIX) and LEAST_SECRET <= len(secret) <= MOST_SECRET):
        raise ValueError(f"is not {WEBHOOK_PREFIX} and base64 of {LEAST_SECRET} to {MOST_SECRET} bytes")
    return secret


def webhook_headers(secrets: Sequence[bytes], message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return the three headers of a message; while secrets are rotated, it is signed with each. `at` is in UTC."""
    text = body.decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(Webhook(one).sign(message_id, at, text) for one in secrets),
    }
