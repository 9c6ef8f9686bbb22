"""The page's own part: what stands between two marks is written by the run, and no figure by hand. Pure."""

BEGIN, END = "<!-- figures: written by `make bench` -->", "<!-- end of figures -->"


class PageError(Exception):
    """The page has no place for figures; the message says what is missing."""


def filled(page: str, figures: str) -> str:
    """Return the page with `figures` between its marks; raise PageError where they are missing."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise PageError(f"the page has no {BEGIN if not begin else END}")
    return f"{head}{BEGIN}\n\n{figures.strip()}\n\n{END}{tail}"
