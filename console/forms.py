"""Forms of the console: the parts that several carry, their own keys, and where a form leads that was taken."""

import secrets
from typing import Annotated

from fastapi import Path
from pydantic import StringConstraints
from starlette.responses import RedirectResponse

from console.pages import HEADERS

_ID = r"^[a-z]+_[0-9a-z]{1,60}$"
_SEE_OTHER = 303
PathId = Annotated[str, Path(pattern=_ID)]
"""The id of a run, a request, a list, … as a part of an address."""
SubjectId = Annotated[str, StringConstraints(pattern=_ID)]
"""The same in a query or a form."""
Reason = Annotated[str, StringConstraints(min_length=3, max_length=2000)]
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{22,64}$")]
"""The key of a form: sent twice, it is one word."""


def new_key() -> str:
    """Return the key of a form that is about to be shown."""
    return secrets.token_urlsafe(24)


def see_other(address: str) -> RedirectResponse:
    """Send a browser from a form to the page of what came of it."""
    return RedirectResponse(address, _SEE_OTHER, HEADERS)
