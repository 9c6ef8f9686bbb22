"""The store of business entities as a connector: what packs declare is kept here, and changed through the gate."""
