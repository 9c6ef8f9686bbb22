"""The invented companies and people that the stand-ins know: one group that is complete, one client that is not.

It also holds what the stand-in for Bloomberg knows of that group.
"""

from dataclasses import dataclass

from countersign_kyc.lei import with_check_digits
from runtime.handlers import Json, JsonObject


@dataclass(frozen=True)
class Company:
    """One company: what GLEIF and the register say about it. Holders None: the register does not know it."""

    lei: str
    name: str
    jurisdiction: str
    parent: str = ""
    holders: tuple[JsonObject, ...] | None = None
    officers: tuple[JsonObject, ...] = ()
    registration: str = "ISSUED"


def _lei(number: int) -> str:
    return with_check_digits(f"9845{number:014d}")


def _person(name: str, percent: str, person_id: str, country: str) -> JsonObject:
    return {"kind": "person", "name": name, "percent": percent, "person_id": person_id, "country": country}


def _holding(name: str, percent: str, lei: str | None) -> JsonObject:
    return {"kind": "company", "name": name, "percent": percent, "lei": lei}


def _officer(name: str, role: str, appointed_on: str, resigned_on: str = "") -> JsonObject:
    return {"name": name, "role": role, "appointed_on": appointed_on, "resigned_on": resigned_on}


CLIENT, GROUP, HOLDING, FUND = _lei(1), _lei(2), _lei(3), _lei(4)
TERMINAL, AGENCY, CREWING, CREWING_BALTIC = _lei(5), _lei(6), _lei(7), _lei(8)
BROKER = _lei(9)  # so little of it is held that GLEIF has no parent for it
INCOMPLETE = _lei(20)

_COMPANIES = (
    Company(
        CLIENT,
        "Halvorsen Seefracht GmbH",
        "DE",
        GROUP,
        (_holding("Halvorsen Gruppe AS", "80", GROUP), _holding("Skagerrak Freight Fund", "20", FUND)),
        (
            _officer("Ingrid Halvorsen", "managing director", "2016-04-01"),
            _officer("Jonas Brandt", "managing director", "2021-09-15"),
            _officer("Peter Aasen", "managing director", "2012-02-01", "2021-09-14"),
        ),
    ),
    Company(
        GROUP,
        "Halvorsen Gruppe AS",
        "NO",
        HOLDING,
        (
            _person("Ingrid Halvorsen", "45", "NO-P-118204", "NO"),
            _holding("Norrvik Holding S.A.", "55", HOLDING),
        ),
        (_officer("Ingrid Halvorsen", "chair", "2009-06-11"),),
    ),
    Company(
        HOLDING,
        "Norrvik Holding S.A.",
        "LU",
        "",
        (_person("Tobias Lindqvist", "70", "SE-P-550931", "SE"), _person("Maren Dahl", "30", "DK-P-730042", "DK")),
        (_officer("Tobias Lindqvist", "director", "2014-01-20"),),
    ),
    Company(FUND, "Skagerrak Freight Fund", "IE"),
    Company(TERMINAL, "Halvorsen Terminal Kiel GmbH", "DE", CLIENT),
    Company(AGENCY, "Halvorsen Agency Rotterdam B.V.", "NL", CLIENT),
    Company(CREWING, "Halvorsen Crewing Sp. z o.o.", "PL", CLIENT),
    Company(CREWING_BALTIC, "Halvorsen Crewing Baltic UAB", "LT", CREWING),
    Company(BROKER, "Skagerrak Broking ApS", "DK"),
    Company(
        INCOMPLETE,
        "Pelican Reach Trading Ltd",
        "GB",
        "",
        (_holding("Coral Nominees Ltd", "60", None), _person("Rhys Calloway", "40", "GB-P-904417", "GB")),
        (_officer("Rhys Calloway", "director", "2019-11-04"),),
        "LAPSED",
    ),
)

COMPANIES = {company.lei: company for company in _COMPANIES}


_HELD = {
    CLIENT: ((TERMINAL, "100"), (AGENCY, "74.9"), (CREWING, "50.1"), (BROKER, "12.5")),
    CREWING: ((CREWING_BALTIC, "100"),),
    INCOMPLETE: (),
}


ODD = "STANDIN ODD"
"""An entity whose field is of another form than the pack expects."""


def _subsidiary(lei: str) -> JsonObject:
    company = COMPANIES[lei]
    return {"COMPANY_NAME": company.name, "LEI": lei, "COUNTRY": company.jurisdiction}


FIELDS: dict[str, Json] = {
    ODD: "a text",
    **{entity: [_subsidiary(lei) for lei, _ in held] for entity, held in _HELD.items()},
}
VOTES: dict[str, Json] = {
    entity: [{"LEI": lei, "PERCENT": percent} for lei, percent in held] for entity, held in _HELD.items()
}
