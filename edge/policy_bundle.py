"""Policy bundle for OPA: the signed bundle of the version in force, for callers with the bearer token.

OPA asks every other second. Nothing is cached between requests, so an activation is in the next download.
"""

import hmac
from dataclasses import dataclass, field

from fastapi import FastAPI, Request
from starlette.responses import Response

from edge.problems import Problem
from runtime.services.policy_bundles import PolicyBundles

ROUTE = "/v1/policy/bundle"


@dataclass(frozen=True)
class BundleDownloads:
    """The bundles, and the bearer token that downloads need."""

    bundles: PolicyBundles
    token: str = field(repr=False)


def add_policy_bundle(app: FastAPI, downloads: BundleDownloads) -> None:
    """Add the route."""

    @app.get(ROUTE)
    async def bundle(request: Request) -> Response:
        if not _shows(request, downloads.token):
            raise Problem(401, "the bearer token is missing or wrong", {"WWW-Authenticate": "Bearer"})
        found = await downloads.bundles.in_force()
        if found is None:
            raise Problem(404, "no policy version is in force: run `countersign policy install`")
        headers = {"ETag": f'"{found.sha256}"', "Cache-Control": "private, no-cache"}
        if _knows(request, found.sha256):
            return Response(status_code=304, headers=headers)
        data = await downloads.bundles.read(found.version)
        return Response(data, headers=headers, media_type="application/gzip")


def _shows(request: Request, token: str) -> bool:
    """Return whether a request has the bearer token."""
    scheme, _, shown = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(shown.strip().encode(), token.encode())


def _knows(request: Request, sha256: str) -> bool:
    """Return whether If-None-Match lists this bundle; weak tags count, too (RFC 9110, section 13.1.2)."""
    tags = [tag.strip() for tag in ",".join(request.headers.getlist("If-None-Match")).split(",")]
    return "*" in tags or f'"{sha256}"' in {tag.removeprefix("W/") for tag in tags}
