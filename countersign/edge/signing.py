"""How callers sign: HMAC-SHA256 over time, method, path and body. Pure; the same functions sign and verify.

Headers: `Countersign-Caller` (an agent of the directory), `Countersign-Timestamp` (Unix seconds, within five minutes)
and `Countersign-Signature` (`v1=` and the hex digest of ``v1:{timestamp}:{METHOD}:{path}:`` and the raw body).
"""

import hashlib
import hmac
from collections.abc import Mapping

WINDOW = 300
CALLER, TIMESTAMP, SIGNATURE = "Countersign-Caller", "Countersign-Timestamp", "Countersign-Signature"


def sign(secret: str, timestamp: int, method: str, path: str, body: bytes) -> str:
    """Return the signature header's value."""
    message = f"v1:{timestamp}:{method}:{path}:".encode() + body
    return f"v1={hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()}"


def headers(caller: str, secret: str, timestamp: int, method: str, path: str, body: bytes) -> dict[str, str]:
    """Return the three headers of a signed request."""
    return {
        CALLER: caller,
        TIMESTAMP: str(timestamp),
        SIGNATURE: sign(secret, timestamp, method, path, body),
    }


def verified_caller(
    given: Mapping[str, str], secrets: Mapping[str, str], now: float, method: str, path: str, body: bytes
) -> str | None:
    """Return the caller that signed the request, or None if nobody known did, or not now."""
    caller, stamp = given.get(CALLER, ""), given.get(TIMESTAMP, "")
    secret = secrets.get(caller)
    if secret is None or not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
        return None
    if abs(now - int(stamp)) > WINDOW:
        return None
    expected = sign(secret, int(stamp), method, path, body)
    return caller if hmac.compare_digest(expected.encode(), given.get(SIGNATURE, "").encode()) else None
