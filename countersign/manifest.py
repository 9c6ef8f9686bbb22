"""The Slack app's manifest, with what this system's settings say of it."""

from importlib.resources import files
from urllib.parse import urlsplit

_PLACE = "  # unfurl_domains: [YOUR-HOST] # of COUNTERSIGN_PUBLIC_URL; `countersign slack manifest` fills it in\n"


def manifest_of(public_url: str | None) -> str:
    """Return its text. With our address the domain of our links stands in it, which Slack then tells us of."""
    text = files("bot").joinpath("manifest.yaml").read_text(encoding="utf-8")
    assert _PLACE in text  # noqa: S101 - a file of ours
    host = urlsplit(public_url).hostname if public_url else None
    return text.replace(_PLACE, f"  unfurl_domains: [{host}]\n") if host else text
