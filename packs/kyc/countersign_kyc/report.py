"""The report about beneficial owners: the document to file, and the sentences that a reviewer reads first."""

from countersign_connector.models import Params, read_params

from countersign_kyc.completeness import BeneficialOwner, CompiledData, Gap, Subsidiary
from runtime.handlers import Call, Handler, JsonObject


class Subsidiaries(Params):
    """The subsidiaries that were looked up, or why they are not known."""

    looked_up: list[Subsidiary]
    unknown: str


class CompileParams(Params):
    """The case, the data that the evaluation compiled, what is still missing, and what the client owns itself."""

    case_id: str
    data: CompiledData
    gaps: list[Gap]
    subsidiaries: Subsidiaries


def handlers() -> dict[str, Handler]:
    """Return the operation that compiles a report."""

    async def compile_report(call: Call) -> JsonObject:
        params = read_params(CompileParams, call)
        stated = params.model_dump()
        return {
            "report": {
                "case_id": params.case_id,
                **stated["data"],
                "gaps": stated["gaps"],
                "subsidiaries": stated["subsidiaries"],
            },
            "summary": summary(params),
        }

    return {"kyc::compile_ubo_report": Handler(compile_report, writes=False)}


def summary(params: CompileParams) -> str:
    """Say who owns the company, what is missing, and what became of its subsidiaries."""
    return " ".join([_ownership(params.data), *(f"Missing: {gap.msg}." for gap in params.gaps), _below(params)])


def _ownership(data: CompiledData) -> str:
    owners = ", ".join(_owner(owner) for owner in data.beneficial_owners)
    return (
        f"{data.subject.legal_name} ({data.subject.lei}): {owners}; "
        f"unidentified ownership {data.unresolved_percent}% (threshold {data.threshold_percent}%)."
    )


def _owner(owner: BeneficialOwner) -> str:
    return f"{owner.name} {owner.percent}%" if owner.basis == "ownership" else f"{owner.name} (manages)"


def _below(params: CompileParams) -> str:
    below = params.subsidiaries
    if below.unknown:
        return f"Subsidiaries are not known: {below.unknown}."
    noted = sum(bool(one.notes) for one in below.looked_up)
    count = len(below.looked_up)
    incomplete = f"; {'all' if noted == count else noted} incomplete" if noted else ""
    return f"{count} subsidiar{'y' if count == 1 else 'ies'} checked{incomplete}."
