"""Slack's mrkdwn, parsed into nodes: formatting, links, mentions, emoji, and plain text.

Emoji short names that this workspace does not know stay as they were written. Links of a text belong to the app where
it has registered their domain as its own.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

EMOJI = {
    "+1": "👍",
    "-1": "👎",
    "alarm_clock": "⏰",
    "arrow_right": "➡️",
    "arrows_counterclockwise": "🔄",
    "ballot_box_with_check": "☑️",
    "balloon": "🎈",
    "bar_chart": "📊",
    "bell": "🔔",
    "black_circle": "⚫",
    "blue_book": "📘",
    "bookmark_tabs": "📑",
    "bulb": "💡",
    "bust_in_silhouette": "👤",
    "busts_in_silhouette": "👥",
    "calendar": "📅",
    "card_index_dividers": "🗂️",
    "chains": "⛓️",
    "clipboard": "📋",
    "closed_lock_with_key": "🔐",
    "double_vertical_bar": "⏸️",
    "file_folder": "📁",
    "fire": "🔥",
    "gear": "⚙️",
    "grey_question": "❔",
    "hammer": "🔨",
    "heavy_check_mark": "✔️",
    "hourglass": "⌛",
    "hourglass_flowing_sand": "⏳",
    "inbox_tray": "📥",
    "information_source": "ℹ️",  # noqa: RUF001 - the emoji itself
    "key": "🔑",
    "label": "🏷️",
    "large_blue_circle": "🔵",
    "large_green_circle": "🟢",
    "large_orange_circle": "🟠",
    "large_red_circle": "🔴",
    "large_yellow_circle": "🟡",
    "link": "🔗",
    "lock": "🔒",
    "mag": "🔍",
    "memo": "📝",
    "no_entry": "⛔",
    "no_entry_sign": "🚫",
    "octagonal_sign": "🛑",
    "outbox_tray": "📤",
    "package": "📦",
    "page_facing_up": "📄",
    "pushpin": "📌",
    "question": "❓",
    "raised_hand": "✋",
    "receipt": "🧾",
    "red_circle": "🔴",
    "robot_face": "🤖",
    "rocket": "🚀",
    "rotating_light": "🚨",
    "scales": "⚖️",
    "scroll": "📜",
    "shield": "🛡️",
    "speech_balloon": "💬",
    "tada": "🎉",
    "thinking_face": "🤔",
    "timer_clock": "⏲️",
    "triangular_flag_on_post": "🚩",
    "unlock": "🔓",
    "warning": "⚠️",
    "wastebasket": "🗑️",
    "wave": "👋",
    "white_check_mark": "✅",
    "white_circle": "⚪",
    "x": "❌",
    "zap": "⚡",
}


Node = dict[str, Any]
Names = Callable[[str], str | None]

# Inside a formatted run a `<...>` form is one thing; a lone `<` is text. The two never overlap, so matching is linear.
_SPAN = (
    r"(?P<{name}>(?<![\w{mark}]){mark}(?=[^\s{mark}])"
    r"(?P<{name}_body>(?:<[^<>\n]*>|<(?![^<>\n]*>)|[^{mark}\n<])+)"
    r"(?<!\s){mark}(?![\w{mark}]))"
)
_TOKENS = re.compile(
    "|".join(
        [
            r"(?P<pre>```(?P<pre_body>.+?)```)",
            r"(?P<code>`(?P<code_body>[^`\n]+)`)",
            r"(?P<angle><(?P<angle_body>[^<>\n]+)>)",
            _SPAN.format(name="bold", mark=r"\*"),
            _SPAN.format(name="italic", mark="_"),
            _SPAN.format(name="strike", mark="~"),
            r"(?P<emoji>:(?P<emoji_body>[a-z0-9_+\-]{1,40}):)",
            r"(?P<url>(?<![\w/])https?://(?=\w)(?:(?!&[lg]t;)[^\s<>|`\"])+(?<![.,;:!?)\]}*_~']))",
        ]
    ),
    re.DOTALL,
)
_QUOTE = re.compile(r"^(?:>|&gt;) ?(.*)$")
_LINK = re.compile(r"^(?:https?://|mailto:|slack://)", re.IGNORECASE)
_DATE = re.compile(r"!date\^(?P<at>[0-9]{1,11})\^(?P<format>[^^]*\{[a-z_]+\}[^^]*)(\^https?://.*)?")
_BROADCASTS = {"!channel", "!here", "!everyone", "!group"}


def unescape(text: str) -> str:
    """Turn the three entities that Slack knows back into characters."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def escape(text: str) -> str:
    """Write the three characters that Slack gives a meaning as entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def parse_plain(text: str, *, emoji: bool = True) -> list[Node]:
    """Parse a plain_text object: no formatting, links or mentions; emoji where asked for."""
    if not emoji:
        return [_text(text)]
    nodes: list[Node] = []
    end = 0
    for match in re.finditer(r":([a-z0-9_+\-]{1,40}):", text):
        if match[1] in EMOJI:
            nodes += [_text(text[end : match.start()]), {"t": "emoji", "v": EMOJI[match[1]]}]
            end = match.end()
    return _compact([*nodes, _text(text[end:])])


def parse(text: str, names: Names, *, verbatim: bool = False) -> list[Node]:
    """Parse mrkdwn; `names` gives the name of a user or channel id. Bare links count unless `verbatim`."""
    nodes: list[Node] = []
    plain: list[str] = []
    quoted: list[str] = []

    def flush(lines: list[str], *, wrap: bool) -> None:
        if lines:
            inner = _compact(list(_inline("\n".join(lines), names, verbatim=verbatim)))
            nodes.extend([{"t": "quote", "c": inner}] if wrap else inner)
            lines.clear()

    in_pre = False
    for line in text.split("\n"):
        quote = None if in_pre else _QUOTE.match(line)
        flush(plain if quote else quoted, wrap=not quote)
        (quoted if quote else plain).append(quote[1] if quote else line)
        in_pre ^= line.count("```") % 2 == 1
    flush(quoted, wrap=True)
    flush(plain, wrap=False)
    return _compact(nodes)


def _inline(text: str, names: Names, *, verbatim: bool) -> Iterator[Node]:
    end = 0
    for match in _TOKENS.finditer(text):
        node = _token(match, names, verbatim=verbatim)
        if node is None:
            continue
        yield _text(text[end : match.start()])
        yield node
        end = match.end()
    yield _text(text[end:])


def _token(match: re.Match[str], names: Names, *, verbatim: bool) -> Node | None:
    kind = next(name for name in ("pre", "code", "angle", "bold", "italic", "strike", "emoji", "url") if match[name])
    if kind == "url":
        return None if verbatim else {"t": "link", "url": unescape(match["url"]), "v": unescape(match["url"])}
    body = match[f"{kind}_body"]
    if kind == "emoji":
        return {"t": "emoji", "v": EMOJI[body]} if body in EMOJI else None
    if kind == "angle":
        return _angle(body, names)
    if kind in {"pre", "code"}:
        return {"t": kind, "v": unescape(body.strip("\n") if kind == "pre" else body)}
    return {"t": kind, "c": _compact(list(_inline(body, names, verbatim=verbatim)))}


def _angle(body: str, names: Names) -> Node | None:
    """Read what stands between angle brackets; None leaves it as text."""
    target, _, label = body.partition("|")
    if target.startswith("@"):
        return {"t": "user", "id": target[1:], "v": "@" + (names(target[1:]) or label or target[1:])}
    if target.startswith("#"):
        return {"t": "channel", "id": target[1:], "v": "#" + (names(target[1:]) or label or target[1:])}
    if target.startswith("!subteam^"):
        handle = names(target.removeprefix("!subteam^"))
        shown = f"@{handle}" if handle else unescape(label) or "@" + target[1:]
        return {"t": "broadcast", "id": target[1:], "v": shown}
    if target in _BROADCASTS:
        return {"t": "broadcast", "id": target[1:], "v": unescape(label) or "@" + target[1:]}
    if target.startswith("!date^"):
        return _date(target, label)
    if _LINK.match(target):
        return {"t": "link", "url": unescape(target), "v": unescape(label or target)}
    return None


def _date(target: str, label: str) -> Node:
    """Read a moment that each reader sees in their own time; one that is not written as Slack wants it is its label."""
    found = _DATE.fullmatch(target)
    if found is None:
        return {"t": "text", "v": unescape(label)}
    return {"t": "date", "at": int(found["at"]), "format": unescape(found["format"]), "v": unescape(label)}


def _text(text: str) -> Node:
    return {"t": "text", "v": unescape(text)}


def _compact(nodes: list[Node]) -> list[Node]:
    """Drop empty text."""
    return [node for node in nodes if node.get("v") or "c" in node]


def walk(nodes: list[Node]) -> Iterator[Node]:
    """Give every node, at any depth."""
    for node in nodes:
        yield node
        yield from walk(node.get("c", []))


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
