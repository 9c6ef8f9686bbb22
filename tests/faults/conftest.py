"""The fixtures of the integration tests serve here too."""

import pytest

from tests.integration.conftest import bench, patient, policy, targets

__all__ = ["bench", "patient", "policy", "targets"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make budgets` say how large a budget is; where other tests are run, too, it is the small one."""
    parser.addoption("--budget", type=int, default=100, help="how many effects 64 workers may do of a budget")
