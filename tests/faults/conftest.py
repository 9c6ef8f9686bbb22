"""The fixtures of the integration tests serve here too."""

from tests.integration.conftest import bench, patient, targets

__all__ = ["bench", "patient", "targets"]
