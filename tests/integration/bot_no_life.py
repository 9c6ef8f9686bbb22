"""A desk to which nothing is said of the app's life, for the tests of the bot that are not about it."""

from datetime import datetime

from runtime.model.installation import InstallPlace
from runtime.services.installations import EndedWhy


class NoLife:
    """Knows no installation and no member."""

    async def remove(self, place: InstallPlace, why: EndedWhy, said_at: datetime) -> bool:
        del place, why, said_at
        return False

    async def note_member(self, team: str, user: str, *, is_active: bool) -> None:
        del team, user, is_active
