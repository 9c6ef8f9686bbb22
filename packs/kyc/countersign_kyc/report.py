"""The report about beneficial owners: the document to file, and the sentence a reviewer reads first."""

from countersign_connector.models import Params, read_params

from countersign_kyc.case import BeneficialOwner, CompiledData
from runtime.handlers import Call, Handler, JsonObject


class CompileParams(Params):
    """The case and the data that the evaluation compiled."""

    case_id: str
    data: CompiledData


def handlers() -> dict[str, Handler]:
    """Return the operation that compiles a report."""

    async def compile_report(call: Call) -> JsonObject:
        params = read_params(CompileParams, call)
        return {
            "report": {"case_id": params.case_id, **params.data.model_dump()},
            "summary": summary(params.data),
        }

    return {"kyc::compile_ubo_report": Handler(compile_report, writes=False)}


def summary(data: CompiledData) -> str:
    """Say who owns the company, in one sentence."""
    owners = ", ".join(_owner(owner) for owner in data.beneficial_owners)
    return (
        f"{data.subject.legal_name} ({data.subject.lei}): {owners}; "
        f"{data.unresolved_percent}% unresolved, threshold {data.threshold_percent}%."
    )


def _owner(owner: BeneficialOwner) -> str:
    return f"{owner.name} {owner.percent}%" if owner.basis == "ownership" else f"{owner.name} (manages)"
