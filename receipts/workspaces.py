"""Acts of a tenant about Slack: where the app is installed, by whose leave, and who is no member any more."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from receipts import canonical
from receipts.act import Act, Allowed
from receipts.fields import Identifier, NonEmpty, Timestamp

RemovedWhy = Literal["app_uninstalled", "tokens_revoked", "installed_again"]


def slack_record(event: str, said: Mapping[str, Any], by: str) -> dict[str, str]:
    """Return name and digest of an installation's beginning or end; `said` has the members of the act."""
    return {f"{event} {said['installation_id']}": canonical.digest({**said, "by": by})}


class SlackLinkMade(Act):
    """Until `expires_at` whoever has the link may install the app in one workspace, which is then this tenant's."""

    event = "slack.link_made"

    link_id: Identifier
    expires_at: Timestamp
    reason: NonEmpty
    policy: Allowed


class SlackAct(Act):
    """What happens to one installation of the app."""

    installation_id: Identifier


class SlackInstalled(SlackAct):
    """The app was installed, by the leave of a link. `team` is "" for a whole organization, which has no team."""

    event = "slack.installed"

    team: str
    enterprise: str  # the organization on Enterprise Grid, "" for a workspace of none
    app_id: NonEmpty
    bot_user: NonEmpty
    scopes: list[NonEmpty]
    link_id: Identifier


class SlackRemoved(SlackAct):
    """An installation ended, and its tokens are deleted here."""

    event = "slack.removed"

    why: RemovedWhy


class SlackMemberChanged(Act):
    """Slack says that an account of the directory was deactivated, or is active again."""

    event = "slack.member_changed"

    team: NonEmpty
    user: NonEmpty
    is_active: bool


class SlackRekeyed(Act):
    """The stored tokens were encrypted anew; `key_id` is of the key that they are under now."""

    event = "slack.rekeyed"

    key_id: NonEmpty
    installations: int = Field(ge=0)
