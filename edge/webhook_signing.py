"""How what goes out is signed: Standard Webhooks 1.0.0, with the symmetric scheme `v1`. Pure.

Headers: `webhook-id`, the same for each try; `webhook-timestamp`, Unix seconds of this try; `webhook-signature`, for
each secret `v1,` and the base64 of the HMAC-SHA256 over id, timestamp and raw body, joined by full stops.
"""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime

from standardwebhooks.webhooks import Webhook

PREFIX = "whsec_"
LEAST, MOST = 24, 64
"""Bytes that a secret may have."""


def secret_of(text: str) -> bytes:
    """Return the bytes of a secret as people write it, ``whsec_`` and base64; raise ValueError."""
    try:
        secret = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError(f"is not {PREFIX} and base64") from None
    if not (text.startswith(PREFIX) and LEAST <= len(secret) <= MOST):
        raise ValueError(f"is not {PREFIX} and base64 of {LEAST} to {MOST} bytes")
    return secret


def headers(secrets: Sequence[bytes], message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return the three headers of a message; while secrets are rotated, it is signed with each. `at` is in UTC."""
    text = body.decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(Webhook(one).sign(message_id, at, text) for one in secrets),
    }
