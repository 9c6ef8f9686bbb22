"""What a witness refuses, and what keeps it from working. Imports nothing: the command line knows it first."""


class WitnessError(Exception):
    """The witness cannot work; the message says why."""


class RefusedError(WitnessError):
    """A checkpoint is not cosigned. `status` is the HTTP status that c2sp.org/tlog-witness gives to the reason."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class OtherSizeError(RefusedError):
    """The log believes that we saw it last at another size than we did: `size` leaves."""

    def __init__(self, size: int) -> None:
        super().__init__(409, f"the last checkpoint that was cosigned is of {size} leaves")
        self.size = size
