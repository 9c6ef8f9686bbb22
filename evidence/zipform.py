"""The one form of ZIP that a bundle has. Its members decide every byte, so a reader can demand every byte.

Members are stored, `summary.md` first and the others in ascending order of name, dated 1980-01-01, regular files of
mode 0644; there are no extra fields, no comments, no data descriptors, no ZIP64, and nothing before, between or after.
Whatever a hostile archive plays with (compression, encryption, links, repeated names, headers that disagree, hidden
data) is a byte that differs.
"""

import hashlib
import struct
import zlib
from collections.abc import Mapping
from typing import BinaryIO, NamedTuple

from evidence.errors import EvidenceError
from evidence.names import is_safe_path, place

MAX_MEMBERS = 65_535
MAX_MEMBER_SIZE = 32 * 2**20
MAX_SIZE = 128 * 2**20

_VERSION = 20
_UNIX = 3 << 8
_REGULAR_FILE = 0o100644 << 16
_DATE_1980 = 1 << 5 | 1


class _Local(NamedTuple):
    """Local header."""

    signature: bytes = b"PK\x03\x04"
    version: int = _VERSION
    flags: int = 0
    compression_method: int = 0
    time: int = 0
    date: int = _DATE_1980
    crc: int = 0
    stored_size: int = 0
    size: int = 0
    name_length: int = 0
    extra_length: int = 0


class _Central(NamedTuple):
    """Central directory."""

    signature: bytes = b"PK\x01\x02"
    made_by: int = _UNIX | _VERSION
    version: int = _VERSION
    flags: int = 0
    compression_method: int = 0
    time: int = 0
    date: int = _DATE_1980
    crc: int = 0
    stored_size: int = 0
    size: int = 0
    name_length: int = 0
    extra_length: int = 0
    comment_length: int = 0
    disk: int = 0
    internal_attributes: int = 0
    file_mode: int = _REGULAR_FILE
    offset: int = 0


class _End(NamedTuple):
    """End of the central directory."""

    signature: bytes = b"PK\x05\x06"
    disk: int = 0
    directory_disk: int = 0
    entries_here: int = 0
    entries: int = 0
    directory_size: int = 0
    directory_offset: int = 0
    comment_length: int = 0


_STRUCTS = {
    _Local: struct.Struct("<4s5H3L2H"),
    _Central: struct.Struct("<4s6H3L5H2L"),
    _End: struct.Struct("<4s4H2LH"),
}
_TITLES = {_Local: "local header", _Central: "central directory", _End: "end of the central directory"}
_HINTS = {
    "signature": "something else stands here",
    "flags": "encrypted, or of unknown size",
    "compression_method": "compressed",
    "file_mode": "a link, a folder or a device",
    "comment_length": "it carries a comment",
    "extra_length": "it carries extra fields",
}


class ZipFormError(EvidenceError):
    """An archive is not in the form; `member` is "" where no member is to blame."""

    def __init__(self, member: str, what: str) -> None:
        super().__init__(f"{member}: {what}" if member else what)
        self.member = member
        self.what = what


class Unpacked(NamedTuple):
    """What an archive held, and the SHA-256 of the whole file."""

    members: dict[str, bytes]
    sha256: str


def pack(members: Mapping[str, bytes]) -> bytes:
    """Return the archive of these members. Equal members give equal bytes."""
    if len(members) > MAX_MEMBERS:
        raise ZipFormError("", f"more than {MAX_MEMBERS} members")
    body, directory = bytearray(), bytearray()
    for name in sorted(members, key=place):
        data = members[name]
        if not is_safe_path(name):
            raise ZipFormError("", f"a member's name is not a plain relative path: {name!r}")
        if len(data) > MAX_MEMBER_SIZE:
            raise ZipFormError(name, f"larger than {MAX_MEMBER_SIZE} bytes")
        crc = zlib.crc32(data)
        directory += _central(name, len(data), crc, len(body))
        body += _local(len(name), len(data), crc) + name.encode() + data
    archive = bytes(body + directory) + _end(len(members), len(directory), len(body))
    if len(archive) > MAX_SIZE:
        raise ZipFormError("", f"the archive is larger than {MAX_SIZE} bytes")
    return archive


def unpack(stream: BinaryIO) -> Unpacked:
    """Read an archive once, front to back, never seeking and never writing; raise at the first thing that differs."""
    reader = _Reader(stream)
    members: dict[str, bytes] = {}
    directory: dict[str, bytes] = {}
    last = ""
    while reader.is_next(_Local().signature):
        offset = reader.position
        name, data, crc = _read_member(reader, last)
        members[name] = data
        last = name
        directory[name] = _central(name, len(data), crc, offset)
        if len(members) > MAX_MEMBERS:
            raise ZipFormError("", f"more than {MAX_MEMBERS} members")
    if not members and not reader.is_next(_End().signature):
        raise ZipFormError("", "this is no ZIP archive")
    directory_offset = reader.position
    for name, wanted in directory.items():
        _demand(reader.take(len(wanted), name), wanted, _Central, name)
    end = _end(len(members), reader.position - directory_offset, directory_offset)
    _demand(reader.take(len(end), ""), end, _End, "")
    if reader.more():
        raise ZipFormError("", "data after the end of the archive")
    return Unpacked(members, reader.hash.hexdigest())


class _Reader:
    """Reads on and on, counts, hashes, and stops at the limit."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._ahead = b""
        self.position = 0
        self.hash = hashlib.sha256()

    def is_next(self, signature: bytes) -> bool:
        """Return whether the next record has this signature."""
        self._ahead = self._ahead or self._stream.read(len(signature))
        return self._ahead == signature

    def take(self, size: int, member: str) -> bytes:
        """Return the next `size` bytes."""
        self.position += size
        if self.position > MAX_SIZE:
            raise ZipFormError(member, f"the archive is larger than {MAX_SIZE} bytes")
        data = self._ahead[:size] + self._stream.read(max(0, size - len(self._ahead)))
        self._ahead = b""
        if len(data) != size:
            raise ZipFormError(member, "the file ends too early")
        self.hash.update(data)
        return data

    def more(self) -> bool:
        """Return whether anything is left."""
        return self._stream.read(1) != b""


def _read_member(reader: _Reader, last: str) -> tuple[str, bytes, int]:
    """Read one local header with its data, and return both with the CRC-32; `last` is the name before it."""
    raw = reader.take(_STRUCTS[_Local].size, "")
    header = _Local._make(_STRUCTS[_Local].unpack(raw))
    name = reader.take(header.name_length, "").decode("latin-1")
    if not is_safe_path(name):
        raise ZipFormError("", f"a member's name is not a plain relative path: {name!r}")
    if last and place(name) <= place(last):
        raise ZipFormError(name, "appears twice" if name == last else f"out of order: stands after {last}")
    if header.size > MAX_MEMBER_SIZE:
        raise ZipFormError(name, f"larger than {MAX_MEMBER_SIZE} bytes")
    _demand(raw, _local(header.name_length, header.size, header.crc), _Local, name)
    data = reader.take(header.size, name)
    if zlib.crc32(data) != header.crc:
        raise ZipFormError(name, "its CRC-32 does not fit its data")
    return name, data, header.crc


def _demand(got: bytes, wanted: bytes, record: type[_Local | _Central | _End], member: str) -> None:
    """Raise, naming the first field that differs, unless both are the same bytes."""
    if got == wanted:
        return
    layout = _STRUCTS[record]
    for field, is_, must in zip(record._fields, layout.unpack_from(got), layout.unpack_from(wanted), strict=True):
        if is_ != must:
            hint = f" ({_HINTS[field]})" if field in _HINTS else ""
            raise ZipFormError(member, f"{_TITLES[record]}: {field} is {is_!r}, not {must!r}{hint}")
    raise ZipFormError(member, f"{_TITLES[record]}: another name")


def _local(name_length: int, size: int, crc: int) -> bytes:
    return _STRUCTS[_Local].pack(*_Local(crc=crc, stored_size=size, size=size, name_length=name_length))


def _central(name: str, size: int, crc: int, offset: int) -> bytes:
    entry = _Central(crc=crc, stored_size=size, size=size, name_length=len(name), offset=offset)
    return _STRUCTS[_Central].pack(*entry) + name.encode()


def _end(entries: int, directory_size: int, directory_offset: int) -> bytes:
    end = _End(entries_here=entries, entries=entries, directory_size=directory_size, directory_offset=directory_offset)
    return _STRUCTS[_End].pack(*end)
