"""The guards of limits in a tenant's data: people whom fields name, obligations, and vetting."""

from tests.mutants.guard import Guard

LIMITS = (
    Guard(
        "policy is told whom a field names before its word counts",
        "asked_with_names",
        "if isinstance(one, Verdict) and one.answer.names and questions[place].named is None",
        "if False",
        ("tests/integration/test_limits_in_data.py",),
    ),
    Guard(
        "a directory that cannot be read makes only the questions about it unavailable",
        "asked_with_names",
        "unread if place in back else one",
        "unread",
        ("tests/integration/test_limits_in_data.py",),
    ),
    Guard(
        "a field with somebody whom the directory does not know names nobody knows whom",
        "told_who.ids",
        "found is None or any(name not in known for name in found)",
        "found is None",
        ("tests/unit/test_named_people.py",),
    ),
    Guard(
        "the question stands on record with whom policy was told of",
        "_told",
        "question if verdict.named is None else",
        "question if True else",
        ("tests/integration/test_limits_in_data.py",),
    ),
    Guard(
        "nobody signs whom policy was told that a field names",
        "_named",
        ".difference(requirement.exclude)",
        ".difference(requirement.exclude).difference({'zoe'})",
        ("tests/integration/test_evidence_lies.py",),
    ),
    Guard(
        "nobody signs while it is not known whom a field names",
        "_named",
        "if people is None",
        "if False",
        ("tests/integration/test_evidence_lies.py",),
    ),
    Guard(
        "groups are told of what is allowed, and an obligation beside another outcome is not known",
        "Answer.notifications",
        "if told and self.outcome is not Outcome.ALLOW:",
        "if False:",
        ("tests/unit/test_policy_obligations.py",),
    ),
    Guard(
        "vetting asks about effects for which each limit holds",
        "_varied",
        'is_plain or plain.effect.connector not in when.get("connector", [plain.effect.connector])',
        "True",
        ("tests/integration/test_policy_checks.py",),
    ),
    Guard(
        "a time zone that nobody knows is found before the policy is served",
        "unknown_zones",
        "if zone not in zones()",
        "if False",
        ("tests/integration/test_policy_checks.py",),
    ),
    Guard(
        "a form is denied once policy knows whom its effects name",
        "_asked",
        "engine.ask_with_names(questions)",
        "engine.policy.ask_all(questions)",
        ("tests/integration/test_forms_denied.py",),
    ),
    Guard(
        "a rollback is not decided while the directory cannot be read",
        "ask_version_before",
        "if isinstance(verdict, PolicyUnavailableError):",
        "if False:",
        ("tests/integration/test_policy_rescue.py",),
    ),
    Guard(
        "a question that policy asks back is said as that",
        "_asked_back",
        'for path in answer.get("names", ())',
        "for path in ()",
        ("tests/integration/test_policy_try.py",),
    ),
    Guard(
        "where policy asks nothing back, no question is said",
        "_asked_back",
        " if named else []",
        "",
        ("tests/integration/test_policy_try.py",),
    ),
)
