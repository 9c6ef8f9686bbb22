"""Mistakes to plant in the shipped configuration: each with the finding of lint that it must give, and nothing else."""

from collections.abc import Callable
from typing import Any

Edit = Callable[[dict[str, Any]], object]


def put(*path: str, value: Any) -> Edit:
    """Return an edit that sets a member of the configuration."""

    def edit(config: dict[str, Any]) -> None:
        inside = config
        for name in path[:-1]:
            inside = inside[name]
        inside[path[-1]] = value

    return edit


def drop(*path: str) -> Edit:
    """Return an edit that removes a member of the configuration."""

    def edit(config: dict[str, Any]) -> None:
        inside = config
        for name in path[:-1]:
            inside = inside[name]
        del inside[path[-1]]

    return edit


GRANT = ("connectors", "access", "operations", "grant")
FILE = ("connectors", "register", "operations", "file_report")
HIGH, URGENT = ("requirements", "high"), ("requirements", "urgent_incident")
GLASS = {"at_most": 2, "within": "P30D", "tell": [], "review_within": "P3D"}
PLAIN = {"quorum": 1, "groups": ["security"], "all_groups": False, "expires_in": "PT8H", "escalate_to": []}
TUESDAY = {"days": ["tue"], "from": "09:00", "until": "17:00"}
BRIEFLY = {"days": ["tue"], "from": "09:00", "until": "09:10"}

PLANTED: dict[str, tuple[Edit, str, str]] = {
    "a quorum of nothing": (put(*HIGH, "quorum", value=0), "policy.flaw", "requirements.high.quorum"),
    "two people for one signature": (put(*URGENT, "groups", value=["pair"]), "people.too_few", ".".join(URGENT)),
    "a group misspelt": (
        put(*HIGH, "escalate_to", value=[{"after": "PT6H", "to": ["senior-complaince"]}]),
        "people.unknown_group",
        "requirements.high.escalate_to.0.to.0",
    ),
    "a group misspelt of which each must sign": (
        put("requirements", "access_payments", "groups", value=["payments-owners", "securty"]),
        "people.unknown_group",
        "requirements.access_payments.groups.1",
    ),
    "operators misspelt": (put("operators", value=["operatros"]), "people.unknown_group", "operators.0"),
    "a class of hundreds": (
        put(*HIGH, "classes", value=[{"groups": ["compliance"], "quorum": 500, "all_groups": False}]),
        "people.impossible",
        "requirements.high",
    ),
    "a class of all there are": (
        put(*HIGH, "classes", value=[{"groups": ["compliance"], "quorum": 3, "all_groups": False}]),
        "people.too_few",
        "requirements.high",
    ),
    "a limit of hundreds": (
        put("limits", value={"many": {"comment": "c", "when": {"connector": ["register"]}, "quorum": 500}}),
        "people.impossible",
        "limits.many",
    ),
    "a limit that few can meet": (
        put(
            "limits",
            value={"all": {"comment": "c", "when": {"runbook": ["r"]}, "requirement": "urgent_incident", "quorum": 3}},
        ),
        "people.too_few",
        "limits.all",
    ),
    "a limit that asks for passkeys that nobody has": (
        put("limits", value={"keys": {"comment": "c", "when": {"connector": ["register"]}, "sign_with": "passkey"}}),
        "people.passkeys",
        "limits.keys.sign_with",
    ),
    "a limit that tells a group misspelt": (
        put("limits", value={"told": {"comment": "c", "when": {"connector": ["register"]}, "notify": ["securty"]}}),
        "people.unknown_group",
        "limits.told.notify.0",
    ),
    "a limit for a group misspelt": (
        put("limits", value={"who": {"comment": "c", "when": {"requester_groups": ["shop"]}, "tier": "high"}}),
        "people.unknown_group",
        "limits.who.when.requester_groups.0",
    ),
    "a quorum of hundreds": (put(*HIGH, "quorum", value=500), "people.impossible", "requirements.high"),
    "passkeys that nobody has": (
        put(*HIGH, "sign_with", value="passkey"),
        "people.passkeys",
        "requirements.high.sign_with",
    ),
    "a requirement nobody asks for": (
        put("requirements", "urgent_incidents", value=PLAIN),
        "requirement.undemanded",
        "requirements.urgent_incidents",
    ),
    "a requirement that is missing": (drop(*URGENT), "requirement.missing", "requirements.urgent_incident of acme"),
    "a requirement of the core that is missing": (
        drop("requirements", "policy_rollback"),
        "requirement.missing",
        "connectors.policy.operations.rollback",
    ),
    "an operation of a rule": (
        drop("connectors", "access", "operations", "revoke"),
        "operation.unlisted",
        "connectors.access.operations.revoke",
    ),
    "an operation of a runbook": (
        drop("connectors", "portal", "operations", "request_documents"),
        "operation.unlisted",
        "connectors.portal.operations.request_documents",
    ),
    "a connector of a pack": (drop("connectors", "bloomberg"), "operation.unlisted", "connectors.bloomberg"),
    "a connector without operations": (
        put("connectors", "fax", value={"chat": False, "operations": {}}),
        "connector.empty",
        "connectors.fax",
    ),
    "a target twice": (
        put(*GRANT, "targets", value=["system:*", "system:vault"]),
        "target.covered",
        ".".join((*GRANT, "targets", "1")),
    ),
    "an escalation to the same": (
        put(*HIGH, "escalate_to", value=[{"after": "PT6H", "to": ["compliance"]}]),
        "escalation.same_groups",
        "requirements.high.escalate_to.0.to",
    ),
    "an escalation to those of the one before": (
        put(*HIGH, "escalate_to", value=[{"after": "PT6H", "to": ["security"]}, {"after": "PT7H", "to": ["security"]}]),
        "escalation.same_groups",
        "requirements.high.escalate_to.1.to",
    ),
    "a glass for those who sign alone": (
        put(*URGENT, "break_glass", value={**GLASS, "groups": ["incident-managers"], "review_by": ["security"]}),
        "break_glass.no_use",
        "requirements.urgent_incident.break_glass.groups",
    ),
    "a glass that one person reviews": (
        put(*HIGH, "break_glass", value={**GLASS, "groups": ["solo"], "review_by": ["solo"]}),
        "break_glass.self_review",
        "requirements.high.break_glass.review_by",
    ),
    "a window of ten minutes": (
        put(*FILE, "execute", value={"between": [BRIEFLY], "time_zone": "Europe/Oslo", "within": "P8D"}),
        "window.short",
        ".".join((*FILE, "execute", "between")),
    ),
    "a window too far": (
        put(*FILE, "execute", value={"between": [TUESDAY], "time_zone": "Europe/Oslo"}),
        "window.unreachable",
        ".".join((*FILE, "execute", "within")),
    ),
    "a beginning too far": (
        put(*FILE, "execute", value={"not_before": "2026-02-01T00:00:00Z", "within": "P5D"}),
        "window.unreachable",
        ".".join((*FILE, "execute", "within")),
    ),
    "a year to sign": (put(*HIGH, "expires_in", value="P365D"), "expiry.long", "requirements.high.expires_in"),
    "no operators": (drop("operators"), "operators.none", "operators"),
}
