"""The OPA bundle of a policy: the same bytes for the same text, with the text's digest as its revision."""

import gzip
import io
import tarfile
from dataclasses import dataclass

import rfc8785

from policy.model import PolicyText
from policy.text import PolicyFolders, read_policy


@dataclass(frozen=True)
class Bundle:
    """A bundle as OPA loads it, and the text that it holds. Whoever has the text can compute `revision` again."""

    text: PolicyText
    data: bytes

    @property
    def revision(self) -> str:
        """Return the text's digest."""
        return self.text.digest


def build_bundle(folders: PolicyFolders) -> Bundle:
    """Build the bundle of core policies and packs' rules, or raise PolicyError."""
    text = read_policy(folders)
    # The root "" owns all of OPA: nothing that is not in the digest can be pushed beside the bundle.
    manifest = rfc8785.dumps({"revision": text.digest, "roots": [""], "rego_version": 1}).decode()
    return Bundle(text, _archive({".manifest": manifest, **text.files}))


def _archive(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    # TarInfo's own defaults (no owner, time zero) and gzip without compression: no machine leaves a trace.
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=0, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, text in sorted(files.items()):
            content = text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()
