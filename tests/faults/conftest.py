"""The fixtures of the integration tests serve here too."""

from tests.integration.conftest import bench, patient, policy, targets

__all__ = ["bench", "patient", "policy", "targets"]
