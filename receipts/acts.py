"""Acts: what all acts of a tenant share, and those about Slack, loaded files and refusals.

About Slack: where the app is installed, by whose leave, and who is no member any more. By acts about loaded files a
start brings what files of the tenant say, where that is not what the start before brought. Refused are commands,
delegations, requests of callers, and sign-ins and forms of the console.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, StringConstraints

from receipts import canonical
from receipts.fields import Exact, Identifier, NonEmpty, Sha256Hex, Timestamp


class Act(Exact):
    """Something that was done. `event` is its name in the log."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    event: ClassVar[str]
    named_by: ClassVar[str] = ""  # the member with the subject's id, where `act_record` says what is recorded

    @property
    def once(self) -> str | None:
        """Return what is on record at most once in a tenant's chain, or None where it may be done again."""
        return None

    @property
    def record(self) -> dict[str, str]:
        """Return what the act is about by its name, with the digest that it has from now on; nothing for most acts."""
        return {}


class Allowed(Exact):
    """The decision of policy that allowed an act, or denied it, by OPA's id and the digest of the policy's text."""

    decision_id: NonEmpty
    digest: Sha256Hex


RemovedWhy = Literal["app_uninstalled", "tokens_revoked", "installed_again"]


def act_record(act: type[Act], said: Mapping[str, Any], by: str) -> dict[str, str]:
    """Return name and digest of what an act says of one thing, which is named by its id; `said` has its members.

    Which decision of policy allowed it is told by the act alone.
    """
    told = {name: value for name, value in said.items() if name != "policy"}
    return {f"{act.event} {said[act.named_by]}": canonical.digest({**told, "by": by})}


class SlackLinkMade(Act):
    """Until `expires_at` whoever has the link may install the app in one workspace, which is then this tenant's."""

    event = "slack.link_made"

    link_id: Identifier
    expires_at: Timestamp
    reason: NonEmpty
    policy: Allowed


class SlackAct(Act):
    """What happens to one installation of the app."""

    named_by = "installation_id"

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


class LoadedAct(Act):
    """A process has started with another file than was on record; `process` is its host, number and a random word."""

    process: NonEmpty

    @property
    def brought(self) -> dict[str, Any]:
        """Return what holds from now on, whichever process brought it; nothing in it is true where no file is given."""
        return self.model_dump(exclude={"process"})


class RoutingLoaded(LoadedAct):
    """Requests go by other rules; `digest` is that of what the file says, None where it says nothing."""

    event = "routing.loaded"

    digest: Sha256Hex | None


class SubscribedTo(Exact):
    """A subscription by its name: the origin of its URL, and the digest of all that the file says of it.

    Receipts of what was sent to it have the same digest as `configuration`.
    """

    name: NonEmpty
    target: NonEmpty
    configuration: Sha256Hex


class SubscriptionsLoaded(LoadedAct):
    """Others hear of runs, or of others; `subscriptions` are all that there are, in the order of their names."""

    event = "subscriptions.loaded"

    subscriptions: list[SubscribedTo]


MOST_TRIED = 10
"""How many different requests one record of refusals names."""

TRIED_LENGTH = 200
"""Characters that are kept of a subject, and of a path."""

Bounded = Annotated[str, StringConstraints(max_length=TRIED_LENGTH)]


class CommandRefused(Act):
    """A command in Slack was refused for what its account is; `code` says why. `team` is "" where Slack said none."""

    event = "command.refused"

    team: str
    user: NonEmpty
    command: NonEmpty
    code: NonEmpty

    @property
    def once(self) -> str:
        """Return whose command was refused, and why: who tries again and again is on record once."""
        return f"command refused {self.team} {self.user} {self.command} {self.code}"


class SignInRefused(Act):
    """An account of an identity provider was not let into the console; `code` says why."""

    event = "sign_in.refused"

    issuer: NonEmpty
    subject: NonEmpty
    code: NonEmpty

    @property
    def once(self) -> str:
        """Return whose sign-in was refused, and why: who tries again and again is on record once."""
        return f"sign-in refused {self.issuer} {self.subject} {self.code}"


class FormRefused(Act):
    """A form or page of the console was refused to somebody who has a session: by their roles, or by where it stood.

    `route` is its method and path, with names in the place of ids; `rule` is `role` or `origin`.
    """

    event = "form.refused"

    route: NonEmpty
    person: NonEmpty
    rule: Literal["role", "origin"]
    session: Identifier

    @property
    def once(self) -> str:
        """Return what was refused, and why: who tries again and again in one session is on record once."""
        return f"form refused {self.session} {self.route} {self.rule}"


class DelegationRefused(Act):
    """Policy denied what somebody wanted of a delegation; `why` are its reasons, `policy` is by which decision.

    The others are what was wanted: `groups` is empty for all, `reason` that of the person who wanted it.
    """

    event = "delegation.refused"

    act: Literal["delegate", "undelegate"]
    delegator: str
    delegate: str
    groups: list[str]
    starts_at: Timestamp
    ends_at: Timestamp
    reason: NonEmpty
    why: NonEmpty
    policy: Allowed


class Tried(Exact):
    """What a refused request was about, as given: the subject of the rule that refused it, and the path."""

    subject: Bounded
    path: Bounded


class RequestRefused(Act):
    """Requests of an authenticated caller, the leaf's actor, were refused: by one rule, on one route.

    The answer was 403; or 503, where the rule says that the database could not be used.

    `count` says how many there were from `first_at` to `last_at`; `tried` has the first different ones.
    """

    event = "request.refused"

    route: NonEmpty
    rule: NonEmpty
    count: int = Field(ge=1)
    first_at: Timestamp
    last_at: Timestamp
    tried: list[Tried] = Field(min_length=1, max_length=MOST_TRIED)

    def with_later(self, later: "RequestRefused") -> "RequestRefused":
        """Return one record of both, which have the same route and rule."""
        tried = [*self.tried, *(one for one in later.tried if one not in self.tried)]
        sums = {"count": self.count + later.count, "last_at": later.last_at, "tried": tried[:MOST_TRIED]}
        return self.model_copy(update=sums)


Refused = CommandRefused | DelegationRefused | RequestRefused | SignInRefused | FormRefused

REFUSED_ACTS: Mapping[str, type[Refused]] = {
    form.event: form for form in (CommandRefused, DelegationRefused, RequestRefused, SignInRefused, FormRefused)
}
"""What was refused outside any run, by its event."""
