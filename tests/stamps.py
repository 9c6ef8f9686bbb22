"""A time stamping authority for tests: `openssl ts` behind HTTP, with a root of its own."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from receipts.stamp import Authority, load_authority
from runtime.clock import utc_now
from tests.patience import MINUTE

QUERY, REPLY = "application/timestamp-query", "application/timestamp-reply"
DAY = timedelta(days=1)
_CONFIG = """
[ tsa ]
serial = {folder}/serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = {digest}
accuracy = secs:1
"""
_KEYS: list[rsa.RSAPrivateKey] = []


def _key(number: int) -> rsa.RSAPrivateKey:
    """Return a key; the making of one takes a while."""
    while len(_KEYS) <= number:
        _KEYS.append(rsa.generate_private_key(65537, 2048))
    return _KEYS[number]


def _certificate(
    subject: str, issuer: str, keys: tuple[int, int], until: timedelta, usage: x509.ExtendedKeyUsage | None
) -> x509.Certificate:
    """Return a certificate of the first key, by the second; that of an authority where it says no usage."""
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, one)]) for one in (subject, issuer)]
    builder = (
        x509.CertificateBuilder(issuer_name=names[1], subject_name=names[0])
        .public_key(_key(keys[0]).public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(utc_now() - 30 * DAY)
        .not_valid_after(utc_now() + until)
        .add_extension(x509.BasicConstraints(ca=usage is None, path_length=None), critical=True)
    )
    made = builder.add_extension(usage, critical=True) if usage else builder
    return made.sign(_key(keys[1]), hashes.SHA256())


@dataclass
class Tsa:
    """An authority whose root let somebody let somebody stamp, until some time, for some usage.

    `answers` may say something else than `openssl` did; `asked` counts requests.
    """

    folder: Path
    until: timedelta = DAY
    usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.TIME_STAMPING
    digest: str = "sha256"
    family: int = 0  # of keys: those of another have the same names
    answers: Callable[[bytes], bytes] = lambda reply: reply
    status: int = 200
    kind: str = REPLY
    asked: int = 0
    hold: Event = field(default_factory=Event)
    """Answers go out while it is set."""

    def __post_init__(self) -> None:
        """Write what `openssl` needs."""
        self.hold.set()
        self.folder.mkdir(exist_ok=True)
        (self.folder / "serial").write_text("01\n")
        (self.folder / "ts.cnf").write_text(_CONFIG.format(folder=self.folder, digest=self.digest))
        first = 3 * self.family
        root = _certificate("root", "root", (first, first), 100 * DAY, None)
        between = _certificate("between", "root", (first + 1, first), 100 * DAY, None)
        usage = x509.ExtendedKeyUsage([self.usage])
        signer = _certificate("signer", "between", (first + 2, first + 1), self.until, usage)
        self._write("ca.pem", root, between)
        self._write("root.pem", root)
        self._write("signer.pem", signer)
        key = _key(first + 2).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (self.folder / "signer.key").write_bytes(key)

    def _write(self, name: str, *certificates: x509.Certificate) -> None:
        data = b"".join(one.public_bytes(serialization.Encoding.PEM) for one in certificates)
        (self.folder / name).write_bytes(data)

    @property
    def ca(self) -> Path:
        """Return the file of the certificates to trust."""
        return self.folder / "ca.pem"

    @cached_property
    def authority(self) -> Authority:
        return load_authority(self.ca)

    def reply(self, query: bytes) -> bytes:
        """Return what `openssl ts` answers a request."""
        (self.folder / "query").write_bytes(query)
        by = ("-signer", "signer.pem", "-inkey", "signer.key")
        self._openssl(
            "ts", "-reply", "-config", "ts.cnf", "-section", "tsa", "-queryfile", "query", *by, "-out", "reply"
        )
        return (self.folder / "reply").read_bytes()

    def signs_as(self, other: "Tsa") -> None:
        """Answer with another's certificate and key from now on."""
        for name in ("signer.pem", "signer.key"):
            (self.folder / name).write_bytes((other.folder / name).read_bytes())

    def signs(self, stamp: bytes) -> bytes:
        """Return what a stamp says, signed by our key whatever that may be used for, as `openssl ts` never would."""
        (self.folder / "reply").write_bytes(stamp)
        self._openssl(
            "ts", "-reply", "-config", "ts.cnf", "-section", "tsa", "-in", "reply", "-token_out", "-out", "token"
        )
        self._openssl("cms", "-verify", "-noverify", "-inform", "DER", "-in", "token", "-out", "said")
        how = (
            "-binary",
            "-nodetach",
            "-econtent_type",
            "1.2.840.113549.1.9.16.1.4",
            "-outform",
            "DER",
            "-md",
            "sha256",
        )
        self._openssl(
            "cms", "-sign", *how, "-in", "said", "-signer", "signer.pem", "-inkey", "signer.key", "-out", "token"
        )
        token = (self.folder / "token").read_bytes()
        body = bytes.fromhex("3003020100") + token  # granted
        return b"\x30\x82" + len(body).to_bytes(2, "big") + body

    def finds(self, stamp: Path, data: Path) -> bool:
        """Return whether `openssl ts` takes the stamp for one of these bytes."""
        try:
            self._openssl("ts", "-verify", "-in", str(stamp), "-data", str(data), "-CAfile", "ca.pem")
        except subprocess.CalledProcessError:
            return False
        return True

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True, timeout=MINUTE)


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Say nothing of those who did not wait."""


@contextmanager
def served(tsa: Tsa) -> Iterator[str]:
    """Let the authority answer over HTTP; give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == QUERY
            tsa.asked += 1
            tsa.hold.wait(MINUTE)
            body = tsa.answers(tsa.reply(query))
            self.send_response(tsa.status)
            self.send_header("Content-Type", tsa.kind)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/tsa"
        finally:
            tsa.hold.set()
            server.shutdown()
            thread.join()
