"""How an OPA is reached that does not take everybody, and that not everybody vouches for."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Access:
    """What we show it, and whom we believe: files are in PEM; without an authority it is the system's that count."""

    token: str | None = field(default=None, repr=False)
    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None  # of the certificate, where that is not in the same file

    def context(self) -> ssl.SSLContext:
        """Return the context of TLS connections; raise OSError where a file cannot be read as what it should be."""
        context = ssl.create_default_context(cafile=self.authority)
        if self.certificate is not None:
            context.load_cert_chain(self.certificate, self.key)
        return context


ANYBODY = Access()
"""Shows nothing, and believes whom the system believes."""
