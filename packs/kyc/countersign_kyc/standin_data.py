"""What the stand-in for Bloomberg knows of the invented group of `seed_data`."""

from countersign_kyc import seed_data as seed
from runtime.handlers import Json, JsonObject

_HELD = {
    seed.CLIENT: ((seed.TERMINAL, "100"), (seed.AGENCY, "74.9"), (seed.CREWING, "50.1"), (seed.BROKER, "12.5")),
    seed.CREWING: ((seed.CREWING_BALTIC, "100"),),
    seed.INCOMPLETE: (),
}


ODD = "STANDIN ODD"
"""An entity whose field is of another form than the pack expects."""


def _subsidiary(lei: str) -> JsonObject:
    company = seed.COMPANIES[lei]
    return {"COMPANY_NAME": company.name, "LEI": lei, "COUNTRY": company.jurisdiction}


FIELDS: dict[str, Json] = {
    ODD: "a text",
    **{entity: [_subsidiary(lei) for lei, _ in held] for entity, held in _HELD.items()},
}
VOTES: dict[str, Json] = {
    entity: [{"LEI": lei, "PERCENT": percent} for lei, percent in held] for entity, held in _HELD.items()
}
