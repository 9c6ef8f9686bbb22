"""How callers sign: HMAC-SHA256 over time, method, path and body. Pure; the same functions sign and verify.

Headers: `Countersign-Caller` (an agent of the directory), `Countersign-Timestamp` (Unix seconds) and
`Countersign-Signature`: `v1=` and the hex digest of five lines: `v1`, the timestamp, the method, the path as sent, and
the raw body, which may hold line breaks of its own.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping

WINDOW = 300
CALLER, TIMESTAMP, SIGNATURE = "Countersign-Caller", "Countersign-Timestamp", "Countersign-Signature"

_SECONDS = re.compile(rb"[0-9]{1,12}")


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


def verified_caller(
    given: Iterable[tuple[bytes, bytes]], secrets: Mapping[str, str], now: float, method: str, path: bytes, body: bytes
) -> str | None:
    """Return the caller that signed the request, or None.

    1. Each of the three headers stands there exactly once.
    2. The timestamp is a plain decimal number.
    3. It lies within WINDOW seconds of our clock, before or after.
    4. The caller has a secret.
    5. The signature is the HMAC with that secret, compared in constant time.
    """
    given = list(given)
    caller, stamp, signature = (_only(given, name) for name in (CALLER, TIMESTAMP, SIGNATURE))  # 1
    if caller is None or stamp is None or signature is None or not _SECONDS.fullmatch(stamp):  # 1, 2
        return None
    name = caller.decode("ascii", "replace")
    if abs(now - int(stamp)) > WINDOW or name not in secrets:  # 3, 4
        return None
    expected = sign(secrets[name], stamp, method, path, body)
    return name if hmac.compare_digest(expected.encode(), signature) else None  # 5


def _only(given: list[tuple[bytes, bytes]], name: str) -> bytes | None:
    wanted = name.lower().encode()
    values = [value for key, value in given if key.lower() == wanted]
    return values[0] if len(values) == 1 else None
