"""Subscriptions: which events of runs are sent to which webhook, and with which secrets they are signed."""

from collections.abc import Collection, Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from yarl import URL

from countersign.foreseen_errors import CountersignError
from countersign.routing import Glob
from countersign.settings import Settings
from countersign.yaml_files import Fault, read_file
from receipts.canonical import digest
from runtime.model.action import Tier
from runtime.model.subscription import EventName, Subscription, Where

MOST = 50


class SubscriptionsError(CountersignError):
    """The file of subscriptions is not usable; the message names every fault and where it is."""


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | dict) else [value]


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _receiver(text: str) -> str:
    url = URL(text)
    if url.scheme not in ("https", "http") or not url.host or url.user or url.query_string or url.fragment:
        raise ValueError("must be an https URL with a host, and without user, query and fragment")
    if url.scheme == "http" and not _is_loopback(url.host):
        raise ValueError("must be https unless the host is this machine")
    return text


Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
_Globs = Annotated[list[Glob], BeforeValidator(_listed), Field(min_length=1)]
_Tiers = Annotated[list[Annotated[Tier, Field(strict=False)]], BeforeValidator(_listed), Field(min_length=1)]
_Events = Annotated[list[Annotated[EventName, Field(strict=False)]], BeforeValidator(_listed), Field(min_length=1)]
_Secrets = Annotated[list[Name], BeforeValidator(_listed), Field(min_length=1, max_length=2)]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class WhereEntry(_Closed):
    """What an event has to be about: all that is said, each by one of its values."""

    runbook: _Globs | None = None
    verb: _Globs | None = None
    tier: _Tiers | None = None


class SubscriptionEntry(_Closed):
    """One subscription. `secret` names one of the settings' secrets, or two while they are rotated.

    `inside` says that the receiver stands in our own network, where nothing is sent otherwise.
    """

    name: Name
    on: _Events
    where: WhereEntry = WhereEntry()
    to: Annotated[str, AfterValidator(_receiver)]
    secret: _Secrets
    inside: bool = False

    def of_runtime(self) -> Subscription:
        """Return the subscription as the runtime has it."""
        said = self.where
        where = Where(tuple(said.runbook or ()), tuple(said.verb or ()), tuple(said.tier or ()))
        origin = str(URL(self.to).origin())
        return Subscription(self.name, frozenset(self.on), where, origin, digest(self.model_dump(mode="json")))


class SubscriptionsFile(_Closed):
    """The whole file."""

    subscriptions: Annotated[list[SubscriptionEntry], Field(max_length=MOST)] = []

    def of_runtime(self) -> tuple[Subscription, ...]:
        """Return the subscriptions as the runtime has them."""
        return tuple(entry.of_runtime() for entry in self.subscriptions)


def read_subscriptions(path: Path, secrets: Collection[str]) -> SubscriptionsFile:
    """Return what a strict YAML file says, or raise SubscriptionsError naming file, line and path of every fault.

    `secrets` are the names of those that the settings have.
    """
    return read_file(path, SubscriptionsFile, lambda found: _faults(found, secrets), SubscriptionsError)


def _faults(found: SubscriptionsFile, secrets: Collection[str]) -> Iterator[Fault]:
    first: Mapping[str, int] = {one.name: at for at, one in reversed(list(enumerate(found.subscriptions)))}
    for at, one in enumerate(found.subscriptions):
        place = ("subscriptions", at)
        if first[one.name] != at:
            yield (*place, "name"), f"{one.name} is the name of subscriptions[{first[one.name]}], too"
        for secret in one.secret:
            if secret not in secrets:
                yield (*place, "secret"), f"COUNTERSIGN_WEBHOOK_SECRETS has no {secret}"
        of_runs = [event.value for event in one.on if not event.is_of_step]
        if of_runs and (one.where.verb or one.where.tier):
            yield (*place, "where"), f"{', '.join(of_runs)} has neither verb nor tier: it would never be told"


def load_subscriptions(settings: Settings) -> SubscriptionsFile:
    """Return what the tenant's file says, or raise SubscriptionsError; nothing where there is no file."""
    if settings.subscriptions is None:
        return SubscriptionsFile()
    return read_subscriptions(settings.subscriptions, settings.webhook_secrets)
