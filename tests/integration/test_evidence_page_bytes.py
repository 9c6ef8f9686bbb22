"""The second verifier's ZIP and canonical JSON: it takes what the program takes, byte for byte, and nothing else."""

import base64
import io
import struct
import zipfile
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from playwright.async_api import Page

from evidence.zipform import MAX_MEMBER_SIZE, ZipFormError, unpack
from receipts import canonical
from receipts.redaction import redact
from tests.browser import verify_page
from tests.unit.test_evidence_bundle import RAW
from tests.unit.test_evidence_zipform import MEMBERS, SOUND, UNSAFE_NAMES, entry, header, with_zipfile, writing

_UNPACK = """
(encoded) => {
  try {
    return [...unpack(fromBase64(encoded))].map(([name, data]) => [name, toHex(data)]);
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    return {member: error.member, what: error.what};
  }
}
"""

# Every bit turned, every end cut off, and every byte inserted: what of it the page takes.
_TAKEN = """
(encoded) => {
  const sound = fromBase64(encoded), taken = [];
  const judge = (bytes, how) => {
    try {
      unpack(bytes);
      taken.push(how);
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
    }
  };
  sound.forEach((byte, place) => {
    for (let bit = 0; bit < 8; bit += 1) judge(sound.with(place, byte ^ (1 << bit)), `bit ${bit} of ${place}`);
    judge(sound.slice(0, place), `cut at ${place}`);
    for (const more of [0, 80]) {
      judge(joined(sound.subarray(0, place), Uint8Array.of(more), sound.subarray(place)), `${more} at ${place}`);
    }
  });
  judge(joined(sound, new Uint8Array(1)), "a byte behind it");
  return taken;
}
"""

_PARSE = """
(texts) => texts.map((text) => {
  try {
    return canonical(parseCanonical(fromBase64(text)));
  } catch (error) {
    if (!(error instanceof Misshapen)) throw error;
    return null;
  }
})
"""


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with verify_page() as page:
        yield page


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def test_members_are_read_as_they_were_packed(page: Page) -> None:
    found = await page.evaluate(_UNPACK, encoded(SOUND))
    assert {name: bytes.fromhex(data) for name, data in found} == MEMBERS


async def test_every_flipped_bit_every_cut_and_every_inserted_byte_is_found(page: Page) -> None:
    assert await page.evaluate(_TAKEN, encoded(SOUND)) == []


def _commented(archive: zipfile.ZipFile) -> None:
    archive.writestr(entry("a"), b"")
    archive.comment = b"hello"


def _one(info: zipfile.ZipInfo | str, data: bytes = b"x") -> bytes:
    return with_zipfile(lambda archive: archive.writestr(info, data))


_DIRECTORY = SOUND.index(b"PK\x01\x02")
_NAME = SOUND.rindex(b"a.txt")
ARCHIVES: dict[str, bytes] = {
    **{f"named {name!r}": _one(entry(name)) for name in UNSAFE_NAMES},
    **{f"of mode {mode:o}": _one(entry("a", mode=mode)) for mode in (0o120777, 0o040755, 0o100755, 0o020644, 0)},
    "named with a NUL": SOUND.replace(b"a.txt", b"a\0txt"),
    "compressed": with_zipfile(lambda archive: archive.writestr("a", bytes(2**20), zipfile.ZIP_DEFLATED, 9)),
    "encrypted": SOUND[:6] + bytes([SOUND[6] | 1]) + SOUND[7:],
    "one name twice": with_zipfile(writing("a", "a")),
    "out of order": with_zipfile(writing("b", "a")),
    "commented": with_zipfile(_commented),
    "a member commented": _one(entry("a", comment=b"hi"), b""),
    "extra fields": _one(entry("a", extra=b"\x99\x99\0\0"), b""),
    "a script before": b"#!/bin/sh\n" + SOUND,
    "twice": SOUND + SOUND,
    "hidden data": SOUND[:_DIRECTORY] + b"hidden" + SOUND[_DIRECTORY:],
    "another name in the directory": SOUND[:_NAME] + b"z.txt" + SOUND[_NAME + 5 :],
    "another place in the directory": SOUND[: _NAME - 4] + struct.pack("<L", 7) + SOUND[_NAME:],
    "larger than its bytes": header(0xFFFFFFFF),
    "as large as may be, and cut": header(MAX_MEMBER_SIZE),
    "more members than may be": b"".join(header(0, b"%08d" % number) for number in range(65_536)),
    "nothing": b"",
    "a signature": b"PK",
    "a PDF": b"%PDF-1.7",
}


def _found(data: bytes) -> tuple[str, str]:
    with pytest.raises(ZipFormError) as caught:
        unpack(io.BytesIO(data))
    return caught.value.member, caught.value.what


@pytest.mark.parametrize("name", ARCHIVES)
async def test_an_archive_in_another_form_is_refused_as_the_program_refuses_it(page: Page, name: str) -> None:
    member, what = _found(ARCHIVES[name])
    shown = await page.evaluate(_UNPACK, encoded(ARCHIVES[name]))
    assert shown["member"] == member
    words: Callable[[str], str] = lambda text: text.partition(" is ")[0].partition("'")[0].partition('"')[0]  # noqa: E731
    assert words(shown["what"]) == words(what)


async def test_what_declares_too_much_is_refused_before_it_is_read(page: Page) -> None:
    too_large = "async (size) => (await verifyBundle({size, arrayBuffer: () => {throw 'read'}}, PEM)).failure"
    refused = await page.evaluate(too_large.replace("PEM", f"`{_pem()}`"), 128 * 2**20 + 1)
    assert (refused["number"], refused["what"]) == (1, f"the archive is larger than {128 * 2**20} bytes")


def _pem() -> str:
    """Return the public key of RFC 8032's second test."""
    der = bytes.fromhex("302a300506032b6570032100" + "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    return f"-----BEGIN PUBLIC KEY-----\n{encoded(der)}\n-----END PUBLIC KEY-----\n"


# Canonical JSON

VALUES: list[Any] = [
    *(None, True, False, 0, -1, 2**53 - 1, 1 - 2**53, 1.5, 0.1, 1e-7, 1e-6, 5e-324, 123456.789, 4.35, -0.5, 1.7e-300),
    *("", "\x00\x1f\x7f", 'a"b\\c/d', "é\u2028\u2029", "😀", "\ufb33\U0001f600", "\ufeff", "</script>"),
    *([], {}, [[[]]], {"b": 1, "a": 2}, {"10": 0, "9": 0, "a": 0}, {"\U0001f600": 1, "\ufb33": 2, "": 0}),
    *({"__proto__": {"a": 1}, "constructor": 2, "toString": None}, {"hash": [{"x": [1, {"y": "z"}]}]}),
]
DEEP = ["[" * depth + "]" * depth for depth in (100, 101, 102, 5000)]
LARGE = ["9007199254740992", "-9007199254740992", "100000000000000000000"]
SPELLINGS = [
    *(*RAW, *DEEP, *LARGE, " 1", "1 ", "1.0", "1e2", "01", "+1", "[1,]"),
    *("\ufeff1", '{"b":1,"a":2}', '"\\/"', '"\\u00e9"'),
]


def _parsed(data: bytes) -> str | None:
    try:
        return canonical.dumps(canonical.loads(data)).decode()
    except canonical.CanonicalError:
        return None


async def test_canonical_json_is_written_and_read_as_the_program_does(page: Page) -> None:
    written = [canonical.dumps(value) for value in VALUES]
    assert await page.evaluate(_PARSE, list(map(encoded, written))) == [data.decode() for data in written]


async def test_another_spelling_is_refused_where_the_program_refuses_it(page: Page) -> None:
    data = [text.encode("utf-8", "surrogateescape") for text in SPELLINGS]
    expected = [_parsed(each) for each in data]
    assert [text for text, value in zip(SPELLINGS, expected, strict=True) if value is not None] == DEEP[:2]
    assert await page.evaluate(_PARSE, list(map(encoded, data))) == expected


SECRETS = [
    {"token_url": "https://sign-in.example/oauth2", "authorizationEndpoint": "https://h", "AuthorizationURI": "a:b"},
    {
        "token_url": "https://me:s3cret@sign-in.example",
        "tokenUri": "https://h?k=1",
        "token_endpoint": {"at": ["https://h"]},
    },
    {"secret_token_url": "https://h", "password_reset_url": "https://h", "token_url_token": "https://h", "tokens": 3},
    {"api_key": "k", "dbPassword": 1, "secretary": "Ann", "a": [{"accesstoken": None, "b": "https://h?token=1"}]},
]


@pytest.mark.parametrize("value", SECRETS)
async def test_page_hides_the_members_that_the_program_hides(page: Page, value: dict[str, Any]) -> None:
    assert await page.evaluate("value => hidden(value, [])", value) == redact(value).value
