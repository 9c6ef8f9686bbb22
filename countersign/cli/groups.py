"""The groups of commands: what each is about, and where it stands. One is imported when it is asked for."""

from functools import cached_property
from importlib import import_module
from typing import Any

from typer.core import TyperGroup
from typer.main import get_group

GROUPS = {
    "evidence": (
        "evidence",
        "List, fetch, verify, report, export and hold evidence; list approvals and exceptions; retry a bundle.",
    ),
    "runs": ("run_commands", "List, show, start, cancel, undo, retry, signal and replay runs."),
    "waits": ("run_commands", "List and show waits."),
    "effects": ("run_commands", "List and show effects: proposed, attempted and done."),
    "definitions": ("definitions", "Check, list, show and compare runbooks; activate and retire their versions."),
    "steps": ("steps", "List, show, retry, supply, skip and end steps that need attention."),
    "dead-letters": ("dead_letters", "List, show, requeue and drop dead letters."),
    "subscriptions": ("subscriptions", "Check and list subscriptions: webhooks that get run events."),
    "tasks": ("tasks", "List, show, answer, claim and release reviews that wait for people."),
    "people": ("people", "List, show, load and change the directory; delegations; passkeys."),
    "slack": ("slack", "Install the Slack app and list where; print its manifest; change its keys."),
    "keys": ("keys", "List, rotate, revoke and export the keys that sign evidence."),
    "log": ("log", "Verify the audit log; show and rotate its key; print its newest checkpoint; write a time stamp."),
}
"""Their names, each with the module of its commands and its help."""


class _Group(TyperGroup):
    """A group whose commands are imported when one of them, or its help, is asked for."""

    def __init__(self, name: str) -> None:
        self._module, said = GROUPS[name]
        super().__init__(name=name, help=said, no_args_is_help=True)
        del self.commands  # which hid the property

    @cached_property
    def commands(self) -> Any:  # type: ignore[override]
        """Return the commands by name."""
        module = import_module(f"{__package__}.{self._module}")
        return get_group(getattr(module, str(self.name).replace("-", "_"))).commands


class Groups(TyperGroup):
    """All commands, and then the groups."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {**self.commands, **{name: _Group(name) for name in GROUPS}}
