"""Bolt's stores over our desk: states are used once, and an installation needs the leave of a link."""

from typing import Any

from slack_bolt.error import BoltError
from slack_sdk.oauth.installation_store.async_installation_store import AsyncInstallationStore
from slack_sdk.oauth.installation_store.models.installation import Installation
from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore

from runtime.model.installed import NewInstallation
from runtime.services.workspaces_model import InstallationDesk, NotInstalledError


class States(AsyncOAuthStateStore):
    """The state of one visit: `link` is the secret that the visitor came with, `link_id` whose leave they have."""

    def __init__(self, desk: InstallationDesk, link: str) -> None:
        self._desk = desk
        self._link = link
        self.link_id: str | None = None

    async def async_issue(self, *_: Any, **__: Any) -> str:
        """Return a state, or "" where the link can't be used any more."""
        return await self._desk.issue_state(self._link) or ""

    async def async_consume(self, state: str) -> bool:
        """Use a state up; return whether it was good."""
        self.link_id = await self._desk.take_state(state)
        return self.link_id is not None


class Installations(AsyncInstallationStore):
    """The store of one visit. What Slack granted is handed over apart, for Bolt's form holds less of it."""

    def __init__(self, desk: InstallationDesk, states: States) -> None:
        self._desk = desk
        self._states = states
        self.granted: NewInstallation | None = None

    async def async_save(self, installation: Installation) -> None:
        """Keep what was granted; raise BoltError saying why not."""
        del installation
        if self.granted is None or self._states.link_id is None:
            raise BoltError("Nothing was granted.")
        try:
            await self._desk.install(self.granted, self._states.link_id)
        except NotInstalledError as error:
            raise BoltError(str(error)) from error
