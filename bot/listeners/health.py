"""What is wrong between us and Slack at this moment: kept by whoever finds it out, read by the process's probe."""


class SlackHealth:
    """The ways to Slack that are not in order, each with the reason; empty when all is well."""

    def __init__(self) -> None:
        self._faults: dict[str, str] = {}

    def well(self, way: str) -> None:
        """Say that a way works."""
        self._faults.pop(way, None)

    def ill(self, way: str, why: str) -> None:
        """Say that a way does not work, and why; no part of a token or an address goes into `why`."""
        self._faults[way] = why

    def is_ill(self, way: str) -> bool:
        """Return whether a way does not work."""
        return way in self._faults

    def faults(self) -> list[str]:
        """Return what is wrong, as `way: why`."""
        return [f"{way}: {why}" for way, why in self._faults.items()]
