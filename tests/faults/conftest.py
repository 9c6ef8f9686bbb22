"""The fixtures of the integration tests serve here too."""

from tests.integration.conftest import bench, targets

__all__ = ["bench", "targets"]
