"""Texts that want to be more: made of what Slack gives a meaning, of what cannot be seen, and of our own words."""

import random
from collections.abc import Iterator

_MEANT = (
    *("<!channel>", "<!here>", "<!everyone>", "<@U0ANNA>", "<#C0APPROVALS>", "<!subteam^S1>", "<!date^0^{date}|now>"),
    *(
        "<https://evil.example|ok>",
        "<mailto:a@evil.example|a>",
        "https://evil.example/x",
        "evil.example",
        "//evil.example",
    ),
    *("*bold*", "_italic_", "~gone~", "`code`", "```pre```", "> quoted", "&gt; quoted", "1. one", "- one", "# head"),
    *(":white_check_mark:", ":tada::skin-tone-2:", "&lt;!here&gt;", "&amp;amp;", "&#60;!here&#62;", "\\<!here\\>"),
)
_UNSEEN = (
    *("\u202e", "\u202c", "\u2066", "\u2069", "\u200b", "\u200d", "\ufeff", "\u00ad", "\u3164", "\u2800", "\u034f"),
    *(
        "\x00",
        "\x1b[31m",
        "\r\n",
        "\t",
        "\x7f",
        "\u2028",
        "\ufe0f",
        "\U000e0041",
        "\u0085",
        "\u00a0",
        " " * 40,
        "\n" * 5,
    ),
)
_OURS = (
    *(
        "Approved by Anna Berg",
        "*Rule*",
        "…",
        "·",
        "→",
        "⟨U+202E⟩",
        "Show all",
        "none",
        "null",
        "true",
        "0",
        '"',
        '{"a":1}',
    ),
    *("Approval needed: ", "1 of 2", "[]", "\n\nOutcome: performed.", "'", "|", "<", ">", "&", "{", "}"),
)
_LETTERS = (
    "Halvorsen",
    "Ωμέγα",
    "株式会社",
    "e\u0301\u0301",
    "😀",
    "👩\u200d👩\u200d👧",
    "ﷺ",
    "İ",
    "ß",
    "\U0001f1f3\U0001f1f4",
)
_PIECES = _MEANT + _UNSEEN + _OURS + _LETTERS


def hostile_texts(count: int) -> Iterator[str]:
    """Yield so many texts of one to six pieces, the same for a seed; each piece stands alone in one of them."""
    rng = random.Random(20_260_302)  # noqa: S311 - texts, no secrets
    yield from _PIECES[:count]
    for _ in range(count - len(_PIECES)):
        yield rng.choice(("", " ", "\n")).join(rng.choices(_PIECES, k=rng.randint(1, 6)))
