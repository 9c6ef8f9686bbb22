"""What the runs of one transaction read of themselves: one statement for all that ask at the same moment."""

from functools import partial

from runtime.model.run import StepState
from runtime.model.states import StepStatus
from runtime.store.database.pool import Conn
from runtime.store.leftovers import Leftovers, leftovers
from runtime.store.privacy import PrivateDocument, private_documents
from runtime.store.steps import Wanted, load_steps
from runtime.store.transactions.batches import Batches

_MOST = 1000


class Loads:
    """Reads that are shared by the runs of a transaction on `conn`."""

    def __init__(self, conn: Conn) -> None:
        self.steps: Batches[Wanted, tuple[dict[str, StepState], frozenset[StepStatus]]]
        self.steps = Batches(partial(load_steps, conn), most=_MOST, at_once=1)
        self.leftovers: Batches[str, Leftovers]
        self.leftovers = Batches(partial(leftovers, conn), most=_MOST, at_once=1)
        self.private: Batches[str, list[PrivateDocument]]
        self.private = Batches(partial(private_documents, conn), most=_MOST, at_once=1)
