"""What the runs of one transaction read, and must know at once: one statement for all that ask at the same moment."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from runtime.model.approval import Approval
from runtime.model.notices import Notices
from runtime.model.notification import Standing
from runtime.model.passage import PassageFacts
from runtime.model.run import StepState
from runtime.model.states import StepStatus
from runtime.model.votes import Vote
from runtime.model.wait import NamedWait, Wait
from runtime.store.approval_marks import opened_at
from runtime.store.approvals import counted_votes, get_approvals
from runtime.store.batches import Batches
from runtime.store.chained_effects import Following, following_facts
from runtime.store.database.pool import Conn
from runtime.store.directory import actors
from runtime.store.effects import insert_messages
from runtime.store.leftovers import Leftovers, StepOf, is_open, leftovers
from runtime.store.notifications import standings
from runtime.store.posted import last_cards
from runtime.store.privacy import PrivateDocument, private_documents
from runtime.store.settings import notices_of
from runtime.store.steps import Wanted, load_steps
from runtime.store.waits import open_waits

_MOST = 1000


class Loads:
    """What the runs of a transaction on `conn` share: reads, and messages, each of which may be there already."""

    def __init__(self, conn: Conn) -> None:
        self.alone = asyncio.Lock()  # of what is looked at and written by one run of the transaction at a time
        self.steps: Batches[Wanted, tuple[dict[str, StepState], frozenset[StepStatus]]]
        self.steps = Batches(partial(load_steps, conn), most=_MOST, at_once=1)
        self.leftovers: Batches[str, Leftovers]
        self.leftovers = Batches(partial(leftovers, conn), most=_MOST, at_once=1)
        self.is_open: Batches[StepOf, bool]
        self.is_open = Batches(partial(is_open, conn), most=_MOST, at_once=1)
        self.standing: Batches[str, Standing]
        self.standing = Batches(partial(standings, conn), most=_MOST, at_once=1)
        self.wait: Batches[NamedWait, Wait | None]
        self.wait = Batches(partial(open_waits, conn), most=_MOST, at_once=1)
        self.approval: Batches[str, Approval | None]
        self.approval = Batches(partial(get_approvals, conn), most=_MOST, at_once=1)
        self.votes: Batches[str, list[Vote]]
        self.votes = Batches(partial(counted_votes, conn), most=_MOST, at_once=1)
        self.actor: Batches[tuple[str, str], dict[str, Any] | None]
        self.actor = Batches(partial(actors, conn), most=_MOST, at_once=1)
        self.notices: Batches[tuple[str, str], Notices]
        self.notices = Batches(partial(notices_of, conn), most=_MOST, at_once=1)
        self.opened: Batches[tuple[str, str], datetime | None]
        self.opened = Batches(partial(opened_at, conn), most=_MOST, at_once=1)
        self.card: Batches[str, str | None]
        self.card = Batches(partial(last_cards, conn), most=_MOST, at_once=1)
        self.message: Batches[Sequence[Any], bool]
        self.message = Batches(partial(insert_messages, conn), most=_MOST, at_once=1)
        self.following: Batches[Following, PassageFacts]
        self.following = Batches(partial(following_facts, conn), most=_MOST, at_once=1)
        self.private: Batches[str, list[PrivateDocument]]
        self.private = Batches(partial(private_documents, conn), most=_MOST, at_once=1)
