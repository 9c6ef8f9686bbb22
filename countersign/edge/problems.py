"""Errors of the edge as problem+json (RFC 9457): one shape, one sentence that says what is wrong and where."""

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

TITLES = {
    400: "Bad request",
    401: "Not signed by a known caller",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    415: "Not JSON",
    422: "Not acceptable",
    503: "Not ready",
}


class Problem(Exception):  # noqa: N818 - the RFC's own word
    """An answer other than success."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def response(status: int, detail: str) -> JSONResponse:
    """Return the problem document."""
    body = {"type": "about:blank", "title": TITLES.get(status, "Error"), "status": status, "detail": detail}
    return JSONResponse(body, status, media_type="application/problem+json")


async def on_problem(_: Request, problem: Exception) -> JSONResponse:
    """Answer a Problem, or what the framework raises by itself."""
    if isinstance(problem, Problem):
        return response(problem.status, problem.detail)
    if isinstance(problem, RequestValidationError):
        return response(422, "; ".join(f"{one['loc']}: {one['msg']}" for one in problem.errors()))
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    return response(status, TITLES.get(status, "Error"))
