"""Which links of a text belong to a domain that the app has registered as its own."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from sandbox.mrkdwn import parse, walk


def shared_links(domains: Sequence[str], text: str) -> list[dict[str, Any]]:
    """Return `domain` and `url` of such links, each once; a domain's subdomains are its own."""
    urls = (node["url"] for node in walk(parse(text, lambda _: None)) if node["t"] == "link")
    found = {url: _domain(domains, url) for url in urls if url.startswith(("http://", "https://"))}
    return [{"domain": domain, "url": url} for url, domain in found.items() if domain]


def _domain(domains: Sequence[str], url: str) -> str:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return next((one for one in domains if host == one or host.endswith(f".{one}")), "")
