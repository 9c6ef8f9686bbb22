"""Time stamps (RFC 3161): an authority's word that bytes existed no later than its clock says.

The library reads DER strictly, and checks a certificate as it was at the moment of the stamp: one that has expired
since still counts.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from rfc3161_client import (
    HashAlgorithm,
    PKIStatus,
    TimestampRequestBuilder,
    TimeStampResponse,
    TimeStampTokenInfo,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from receipts.errors import ReceiptsError

STAMP_LIMIT = 64 * 1024
"""Bytes that a stamp may have: a signature and a few certificates have about 6,000."""

_SHA256 = x509.ObjectIdentifier("2.16.840.1.101.3.4.2.1")


class StampError(ReceiptsError):
    """A time stamp is not one, is about something else, or is by nobody who is trusted; the message says which."""


@dataclass(frozen=True)
class Authority:
    """Whom time stamps are believed from: certificates of a root, and of whatever stands between it and who stamps."""

    certificates: tuple[x509.Certificate, ...]


@dataclass(frozen=True)
class StampRequest:
    """What is sent (DER of a TimeStampReq over the SHA-256 of `data`), and the nonce that must come back."""

    data: bytes
    body: bytes
    nonce: int


def load_authority(path: Path) -> Authority:
    """Read certificates in PEM; raise StampError where there are none in the file."""
    try:
        return Authority(tuple(x509.load_pem_x509_certificates(path.read_bytes())))
    except OSError as error:
        raise StampError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise StampError(f"{path} does not hold certificates in PEM") from error


def make_request(data: bytes) -> StampRequest:
    """Return a request for a stamp of these bytes that brings the certificate of who stamps."""
    request = TimestampRequestBuilder(data, HashAlgorithm.SHA256, nonce=True, cert_req=True).build()
    if request.nonce is None:
        raise StampError("the request has no nonce")
    return StampRequest(data, request.as_bytes(), request.nonce)


def check_about(stamp: bytes, data: bytes) -> None:
    """Raise StampError unless this is a stamp of these bytes. Who gave it, and when, is not known by that."""
    _about(stamp, data)


def no_later_than(stamp: bytes, data: bytes, authority: Authority, nonce: int | None = None) -> datetime:
    """Return the moment at which these bytes existed at the latest, by the clock of who stamped and its accuracy.

    Raise StampError unless 1. it is a stamp of these bytes, 2. by somebody whom a root of the authority let stamp at
    that time, and 3. it answers the request with this nonce, where one is given.
    """
    response = _about(stamp, data)  # 1
    try:
        VerifierBuilder(roots=list(authority.certificates), nonce=nonce).build().verify_message(response, data)  # 2, 3
    except (VerificationError, ValueError) as error:
        raise StampError(f"the stamp does not hold: {_in_words(str(error))}") from error
    return response.tst_info.gen_time.astimezone(UTC) + _accuracy(response.tst_info)


def _about(stamp: bytes, data: bytes) -> TimeStampResponse:
    if len(stamp) > STAMP_LIMIT:
        raise StampError(f"the stamp has more than {STAMP_LIMIT} bytes")
    try:
        response = decode_timestamp_response(stamp)
        if response.status != PKIStatus.GRANTED:
            raise StampError(f"no stamp was given: {' '.join(response.status_string)[:200] or 'without a reason'}")
        imprint = response.tst_info.message_imprint
    except ValueError as error:
        raise StampError(f"not a time stamp (RFC 3161): {error}") from error
    if imprint.hash_algorithm != _SHA256 or imprint.message != hashlib.sha256(data).digest():
        raise StampError("the stamp is of something else")
    return response


def _accuracy(info: TimeStampTokenInfo) -> timedelta:
    """Return how far off the clock may have been; zero where nothing is said of it."""
    off = info.accuracy
    if off is None:
        return timedelta()
    return timedelta(seconds=off.seconds or 0, milliseconds=off.millis or 0, microseconds=off.micros or 0)


def _in_words(error: str) -> str:
    """Return what OpenSSL says of a certificate, without the stack in which it says it."""
    said = re.search(r'Verify error: ([^"]+)"', error)
    return said[1] if said else error.split(": ErrorStack", maxsplit=1)[0]
