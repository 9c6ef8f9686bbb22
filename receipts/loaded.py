"""Acts by which a start brings what files of the tenant say, where that is not what the start before brought."""

from typing import Any

from receipts.act import Act
from receipts.fields import Closed, NonEmpty, Sha256Hex


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


class SubscribedTo(Closed):
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
