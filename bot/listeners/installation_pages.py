"""The pages that whoever installs the app sees: a sentence each, and nothing to load."""

from collections.abc import Mapping
from html import escape

from slack_bolt import BoltResponse

_HEADERS: Mapping[str, list[str]] = {
    "Content-Type": ["text/html; charset=utf-8"],
    "Content-Security-Policy": ["default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"],
    "Referrer-Policy": ["no-referrer"],
    "Cache-Control": ["no-store"],
    "X-Content-Type-Options": ["nosniff"],
}
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1.5rem;color:#1d1c1d}"
    "h1{font-size:1.4rem}@media(prefers-color-scheme:dark){body{background:#1a1d21;color:#d1d2d3}}"
)
_WHY = {
    "access_denied": "You did not allow it, so nothing was installed.",
    "invalid_browser": "This was started in another browser, or too long ago. Open the link again.",
    "invalid_state": "This was started too long ago, or is already finished. Open the link again.",
    "missing_code": "Slack did not say whether you allow it. Open the link again.",
    "invalid_code": "Slack did not grant it. Open the link again; if it fails again, the operator's log says why.",
}
NO_LINK = "This link was already used or has expired. Ask your operator for a new one."
NOT_NOW = "Slack did not answer. Nothing was installed. Open the link again in a moment."


def page(status: int, title: str, text: str) -> BoltResponse:
    """Return a page with a title and a sentence."""
    shown = f"<main><h1>{escape(title)}</h1><p>{escape(text)}</p></main>"
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = f'<!doctype html><html lang="en">{head}<style>{_STYLE}</style>{shown}</html>'
    return BoltResponse(status=status, body=body, headers=dict(_HEADERS))


def installed(workspace: str) -> BoltResponse:
    """Return the page that says where it is installed, and what is to be done next."""
    text = f"Installed in {workspace}. Invite it to each channel that gets cards: /invite @Countersign"
    return page(200, "Countersign is installed", text)


def refused(status: int, why: str) -> BoltResponse:
    """Return the page that says why nothing was installed."""
    return page(status, "Countersign was not installed", why)


def reason(code: str) -> str:
    """Return in words what Slack or Bolt calls a failure."""
    return _WHY.get(code, "Slack refused it. Open the link again; if it fails again, ask your operator.")
