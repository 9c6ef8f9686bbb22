"""The one form of ZIP: equal members give equal bytes, and every other byte is refused, whatever it plays at."""

import io
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence import zipform
from evidence.zipform import MAX_MEMBER_SIZE, MAX_SIZE, ZipFormError, pack, unpack

MEMBERS = {"a.txt": b"first", "b/c.json": b"{}", "empty": b""}
SOUND = pack(MEMBERS)
segments = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,8}", fullmatch=True)
paths = st.lists(segments, min_size=1, max_size=3).map("/".join)


def reading(data: bytes) -> dict[str, bytes]:
    return unpack(io.BytesIO(data)).members


@given(st.dictionaries(paths, st.binary(max_size=50), max_size=6))
@settings(deadline=None)
def test_what_was_packed_is_unpacked_and_any_zip_program_reads_it(members: dict[str, bytes]) -> None:
    data = pack(members)
    assert reading(data) == members
    assert pack(dict(reversed(members.items()))) == data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == members
        assert all(entry.date_time == (1980, 1, 1, 0, 0, 0) for entry in archive.infolist())


def test_every_flipped_bit_is_found() -> None:
    for place in range(len(SOUND)):
        for bit in range(8):
            bent = bytearray(SOUND)
            bent[place] ^= 1 << bit
            with pytest.raises(ZipFormError):
                reading(bytes(bent))


def test_every_truncation_and_every_inserted_byte_is_found() -> None:
    for place in range(len(SOUND)):
        with pytest.raises(ZipFormError):
            reading(SOUND[:place])
        for byte in (b"\0", b"P"):
            with pytest.raises(ZipFormError):
                reading(SOUND[:place] + byte + SOUND[place:])
    with pytest.raises(ZipFormError, match="data after the end"):
        reading(SOUND + b"\0")


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_noise_is_refused(noise: bytes) -> None:
    for data in (noise, b"PK\x03\x04" + noise, SOUND[: len(noise)] + noise):
        if data != SOUND:
            with pytest.raises(ZipFormError):
                reading(data)


def with_zipfile(write: Callable[[zipfile.ZipFile], None], **options: int) -> bytes:
    """Return what the standard library makes of `write`."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the standard library warns of repeated names, which are wanted here
        with zipfile.ZipFile(buffer, "w", **options) as archive:  # type: ignore[call-overload]  # options are integers
            write(archive)
    return buffer.getvalue()


def writing(*names: str) -> Callable[[zipfile.ZipFile], None]:
    def write(archive: zipfile.ZipFile) -> None:
        for number, name in enumerate(names):
            archive.writestr(entry(name), str(number))

    return write


def entry(name: str, *, mode: int = 0o100644, extra: bytes = b"", comment: bytes = b"") -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr, info.extra, info.comment, info.create_system = mode << 16, extra, comment, 3
    return info


UNSAFE_NAMES = [
    *("../evil", "a/../../evil", "/etc/passwd", "a//b", "a/./b", "./a", "a/", "..", ".hidden", "a\\b", "C:evil", "a b"),
    *("\u202ea", "a\nb", "é", "a:b", "-a", "~/a", "a" * 256, "a/.git"),
]


@pytest.mark.parametrize("name", UNSAFE_NAMES)
def test_name_that_is_no_plain_relative_path_is_neither_written_nor_read(name: str) -> None:
    with pytest.raises(ZipFormError, match="name"):
        reading(with_zipfile(lambda archive: archive.writestr(entry(name), b"x")))
    with pytest.raises(ZipFormError, match="plain relative path"):
        pack({name: b"x"})


def test_nul_in_a_name_is_refused() -> None:
    with pytest.raises(ZipFormError, match="plain relative path"):
        reading(SOUND.replace(b"a.txt", b"a\0txt"))


@pytest.mark.parametrize("mode", [0o120777, 0o040755, 0o100755, 0o020644, 0o010644, 0])
def test_link_folder_device_or_program_is_refused(mode: int) -> None:
    with pytest.raises(ZipFormError, match=r"a: central directory: file_mode .*\(a link, a folder or a device\)"):
        reading(with_zipfile(lambda archive: archive.writestr(entry("a", mode=mode), b"/etc/passwd")))


def test_compressed_member_is_refused_before_it_is_inflated() -> None:
    bomb = with_zipfile(lambda archive: archive.writestr("a", bytes(30 * 2**20), zipfile.ZIP_DEFLATED, 9))
    assert len(bomb) < 40_000
    with pytest.raises(ZipFormError, match=r"a: local header: compression_method is 8, not 0 \(compressed\)"):
        reading(bomb)


def test_encrypted_member_is_refused() -> None:
    bent = bytearray(SOUND)
    bent[6] |= 1
    with pytest.raises(ZipFormError, match=r"a.txt: local header: flags is 1, not 0 \(encrypted"):
        reading(bytes(bent))


def test_size_that_comes_after_the_data_is_refused() -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:  # type: ignore[override]  # bytes are all that zipfile writes
            self.data += data
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w") as archive:
        archive.writestr(entry("a"), b"x")
    with pytest.raises(ZipFormError, match="a: local header: flags is 8"):
        reading(bytes(pipe.data))


def test_repeated_name_is_refused() -> None:
    with pytest.raises(ZipFormError, match="a: appears twice"):
        reading(with_zipfile(writing("a", "a")))


def test_names_out_of_order_are_refused() -> None:
    with pytest.raises(ZipFormError, match="a: out of order: stands after b"):
        reading(with_zipfile(writing("b", "a")))


def test_comments_and_extra_fields_are_refused() -> None:
    def commented(archive: zipfile.ZipFile) -> None:
        archive.writestr(entry("a"), b"")
        archive.comment = b"hello"

    with pytest.raises(ZipFormError, match="comment_length is 5, not 0"):
        reading(with_zipfile(commented))
    with pytest.raises(ZipFormError, match="a: central directory: comment_length is 2"):
        reading(with_zipfile(lambda archive: archive.writestr(entry("a", comment=b"hi"), b"")))
    with pytest.raises(ZipFormError, match="a: local header: extra_length is 4"):
        reading(with_zipfile(lambda archive: archive.writestr(entry("a", extra=b"\x99\x99\0\0"), b"")))


@pytest.mark.parametrize("before", [b"#!/bin/sh\n", b"%PDF-1.7\n", b"\0", SOUND])
def test_file_that_is_something_else_too_is_refused(before: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(before + SOUND)) as archive:
        assert archive.read("a.txt") == b"first"  # other readers see nothing wrong
    with pytest.raises(ZipFormError):
        reading(before + SOUND)


def test_data_between_members_and_directory_is_refused() -> None:
    directory = SOUND.index(b"PK\x01\x02")
    with pytest.raises(ZipFormError, match=r"a\.txt: central directory: signature"):
        reading(SOUND[:directory] + b"hidden" + SOUND[directory:])


def test_directory_that_disagrees_with_the_members_is_refused() -> None:
    place = SOUND.rindex(b"a.txt")
    with pytest.raises(ZipFormError, match=r"a\.txt: central directory: another name"):
        reading(SOUND[:place] + b"z.txt" + SOUND[place + 5 :])
    with pytest.raises(ZipFormError, match=r"a\.txt: central directory: offset is 7, not 0"):
        reading(SOUND[: place - 4] + struct.pack("<L", 7) + SOUND[place:])


def test_member_that_the_directory_leaves_out_is_refused() -> None:
    short = pack({name: data for name, data in MEMBERS.items() if name != "a.txt"})
    hidden = SOUND[: SOUND.index(b"PK\x03\x04", 1)]
    with pytest.raises(ZipFormError):
        reading(hidden + short)


@pytest.mark.parametrize("data", [b"", b"PK", b"hello, I am a text\n", b"\x7fELF" + bytes(99)])
def test_what_is_no_archive_at_all_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(ZipFormError, match=r"^this is no ZIP archive$"):
        reading(data)


def header(size: int, name: bytes = b"a") -> bytes:
    return struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 0, 0, 33, zlib.crc32(b""), size, size, len(name), 0) + name


def test_declared_size_beyond_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(ZipFormError, match=f"a: larger than {MAX_MEMBER_SIZE} bytes"):
        reading(header(0xFFFFFFFF))
    with pytest.raises(ZipFormError, match="a: the file ends too early"):
        reading(header(MAX_MEMBER_SIZE))


class Endless(io.RawIOBase):
    """A file of members of the largest size, one after the other, without end."""

    def __init__(self) -> None:
        self.given = 0
        self._part = b""
        self._number = 0

    def read(self, size: int = -1) -> bytes:
        while len(self._part) < size:
            self._number += 1
            data = bytes(MAX_MEMBER_SIZE // 2)
            start = header(len(data), b"n%07d" % self._number)
            self._part += start[:14] + struct.pack("<L", zlib.crc32(data)) + start[18:] + data
        self.given += size
        taken, self._part = self._part[:size], self._part[size:]
        return taken


def test_archive_without_end_is_read_no_further_than_the_limit() -> None:
    stream = Endless()
    with pytest.raises(ZipFormError, match=f"the archive is larger than {MAX_SIZE} bytes"):
        unpack(stream)  # type: ignore[arg-type]  # `read` is all that is used
    assert stream.given <= MAX_SIZE


def test_members_are_counted() -> None:
    many = b"".join(header(0, b"%08d" % number) for number in range(zipform.MAX_MEMBERS + 1))
    with pytest.raises(ZipFormError, match="more than 65535 members"):
        reading(many)
    with pytest.raises(ZipFormError, match="more than 65535 members"):
        pack({f"{number:08}": b"" for number in range(zipform.MAX_MEMBERS + 1)})


def test_too_much_is_not_packed() -> None:
    half = bytes(MAX_MEMBER_SIZE)
    with pytest.raises(ZipFormError, match="a: larger than"):
        pack({"a": half + b"x"})
    with pytest.raises(ZipFormError, match="the archive is larger"):
        pack(dict.fromkeys(["a", "b", "c", "d"], half))


def test_empty_archive_has_no_members() -> None:
    assert reading(pack({})) == {}
