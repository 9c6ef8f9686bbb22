"""A vendor's release server on this machine: real HTTPS, with a certificate that only the tests trust."""

import hashlib
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

LOOPBACK = "127.0.0.1"


@dataclass
class Releases:
    """What the server serves: bodies by path, redirects by path; `cut` names paths whose body breaks off halfway."""

    url: str
    trust: ssl.SSLContext
    files: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)

    def publish(self, name: str, body: bytes, checksum_suffix: str) -> None:
        """Serve a program and, in the form of `sha256sum`, its checksum."""
        self.files[f"/{name}"] = body
        self.files[f"/{name}{checksum_suffix}"] = f"{hashlib.sha256(body).hexdigest()}  {name}\n".encode()


@contextmanager
def release_server(folder: Path) -> Iterator[Releases]:
    """Serve releases until the block ends; `folder` keeps the certificate."""
    certificate, key = make_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer((LOOPBACK, 0), _Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = f"https://{LOOPBACK}:{server.server_address[1]}"
        releases = Releases(url, ssl.create_default_context(cafile=str(certificate)))
        server.releases = releases  # type: ignore[attr-defined]  # how http.server hands state to its handlers
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield releases
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Answers GET from the releases of its server."""

    def do_GET(self) -> None:
        """Answer with a redirect, the file, half of it, or 404."""
        releases: Releases = self.server.releases  # type: ignore[attr-defined]  # set by release_server
        if self.path in releases.redirects:
            self.send_response(302)
            self.send_header("Location", releases.redirects[self.path])
            self.end_headers()
            return
        body = releases.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path in releases.cut else body)

    def log_message(self, *_arguments: object) -> None:
        """Keep the tests' output clean."""


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for the loopback address that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "release server of the tests")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK)), x509.DNSName("localhost")]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(pem))
    (folder / "key.pem").write_bytes(private)
    return folder / "certificate.pem", folder / "key.pem"
