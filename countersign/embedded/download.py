"""Download a file over HTTPS and keep it only if it has its published SHA-256. Standard library only."""

import hashlib
import re
import ssl
import time
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import cast
from urllib import request

from countersign.embedded.work import REPORT_EVERY, Report

_TIMEOUT_S = 30.0
_CHUNK = 1 << 18
_CHECKSUM_LIMIT = 4096


class DownloadError(Exception):
    """The file was not obtained, and nothing of it was kept."""


def download(
    url: str, checksum_url: str, target: Path, report: Report, *, context: ssl.SSLContext | None = None
) -> None:
    """Bring the file at `url` to `target`, executable, if its SHA-256 is the one that stands at `checksum_url`."""
    opener = _https_only(context or ssl.create_default_context())
    expected = _published_digest(opener, checksum_url)
    part = target.with_name(f".{target.name}.part")
    try:
        actual = _receive(opener, url, part, report)
        if actual != expected:
            raise DownloadError(f"{url} has the SHA-256 {actual}, but {checksum_url} publishes {expected}")
        part.chmod(0o755)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _https_only(context: ssl.SSLContext) -> request.OpenerDirector:
    """Return an opener that speaks nothing but HTTPS, so that no redirect leads out of it."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPSHandler(context=context),
        request.HTTPRedirectHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


@contextmanager
def _open(opener: request.OpenerDirector, url: str) -> Iterator[HTTPResponse]:
    """Open the address; every way in which the network can fail becomes one error that names it."""
    try:
        with cast("HTTPResponse", opener.open(url, timeout=_TIMEOUT_S)) as response:
            yield response
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadError(f"{url} answered {error.code} {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise DownloadError(f"{url} could not be read ({getattr(error, 'reason', None) or error})") from error


def _published_digest(opener: request.OpenerDirector, url: str) -> str:
    """Return the SHA-256 that the vendor publishes: the first word of the file, as `sha256sum` writes it."""
    with _open(opener, url) as response:
        words = response.read(_CHECKSUM_LIMIT).decode("ascii", "replace").split()
    if not words or not re.fullmatch(r"[0-9a-fA-F]{64}", words[0]):
        raise DownloadError(f"{url} holds no SHA-256")
    return words[0].lower()


def _receive(opener: request.OpenerDirector, url: str, part: Path, report: Report) -> str:
    """Write the body to `part` and return its SHA-256."""
    digest, size, reported = hashlib.sha256(), 0, time.monotonic()
    with _open(opener, url) as response, part.open("wb") as sink:
        total = int(response.headers.get("Content-Length", 0))
        while chunk := response.read(_CHUNK):
            sink.write(chunk)
            digest.update(chunk)
            size += len(chunk)
            if time.monotonic() - reported > REPORT_EVERY:
                reported = time.monotonic()
                report(f"  {size >> 20} of {total >> 20} MiB")
        if size < total:
            raise DownloadError(f"{url} ended after {size} of {total} bytes")
    return digest.hexdigest()
