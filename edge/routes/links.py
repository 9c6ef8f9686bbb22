"""The routes of our links. Nothing is looked up, so there is nothing that an answer, or its time, could tell."""

from fastapi import FastAPI
from starlette.responses import HTMLResponse

from edge.routes.link_page import LinkPage
from runtime.services.link_addresses import LinkTo, path_of


def add_links(app: FastAPI, page: LinkPage) -> None:
    """Add the page, under whatever may be one of our links."""

    async def show(some_id: str) -> HTMLResponse:  # noqa: ARG001 - it is not looked at
        return page.response()

    for to in LinkTo:
        app.get(f"{path_of(to)}{{some_id}}")(show)
