"""A real Chromium for tests, and in it the page that verifies bundles."""

import atexit
import base64
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.async_api import Browser, Page, async_playwright

from evidence import verifier_page
from tools.chromium import find

_VERIFY = """
async ([encoded, pem, {register = null, children = [], undone = [], ...given}]) => {
  const below = children.map(([name, data]) => new File([fromBase64(data)], name));
  const [other = null] = undone.map(([name, data]) => new File([fromBase64(data)], name));
  const trusted = {...given, undone: other, register: register === null ? null : toUtf8(register), children: below};
  const {failure, passed, sha256, key} = await verifyBundle(new Blob([fromBase64(encoded)]), pem, () => {}, trusted);
  return {failure, passed, sha256, key};
}
"""

Failure = tuple[int, str, str]
"""What does not hold: the step, the member, and what."""


@cache
def verify_file() -> Path:
    """Return the page as a file, which is there until the process ends."""
    folder = TemporaryDirectory(prefix="countersign-page-")
    atexit.register(folder.cleanup)
    file = Path(folder.name) / "verify.html"
    file.write_text(verifier_page.page(), encoding="utf-8")
    return file


_kept: list[Browser] = []
_keeping = AsyncExitStack()


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Give the browser of this process; what is opened in it is closed when the block ends.

    Its start takes as long as many tests. Each page that is opened in it has a profile of its own.
    """
    if not (_kept and _kept[-1].is_connected()):
        _kept.append(await _keeping.enter_async_context(_launched()))
    browser = _kept[-1]
    before = list(browser.contexts)
    try:
        yield browser
    finally:
        for context in browser.contexts:
            if context not in before:
                await context.close()


@asynccontextmanager
async def _launched() -> AsyncIterator[Browser]:
    program = find()
    assert program, "Chromium is missing: `make test` sets it up"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program.path, env={**os.environ, **program.env})
        yield browser
        await browser.close()


async def stop_chromium() -> None:
    """End the browser of this process, if there is one."""
    _kept.clear()
    await _keeping.aclose()


@asynccontextmanager
async def verify_page() -> AsyncIterator[Page]:
    """Open the page from its file, in a profile of its own."""
    async with chromium() as browser:
        page = await browser.new_page()
        await page.goto(verify_file().as_uri())
        yield page


async def report_of(page: Page, data: bytes, pem: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what the page finds of a bundle: `failure` or None, what `passed`, `sha256` and the id of the `key`.

    What is given beside the key: `register` (the text of the file), `logKeys` and `witnesses` (vkey), `needed`,
    the files of `children`, and of `undone` one.
    """
    beside = {**(given or {})}
    for kind in ("children", "undone"):
        beside[kind] = [[file.name, _encoded(file.read_bytes())] for file in beside.get(kind, ())]
    report: dict[str, Any] = await page.evaluate(_VERIFY, [_encoded(data), pem, beside])
    return report


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def failure_of(page: Page, data: bytes, pem: str) -> Failure | None:
    """Return what the page says does not hold; None where everything does."""
    failure = (await report_of(page, data, pem))["failure"]
    return failure and (failure["number"], failure["member"], failure["what"])
