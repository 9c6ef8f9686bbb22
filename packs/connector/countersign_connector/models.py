"""Strict pydantic bases for what reaches a connector, and one wording of what does not fit."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from yarl import URL

from runtime.handlers import Call, RefusedError

_MAX_TIMEOUT = 120.0


class Params(BaseModel):
    """The params of one operation: closed, and of exactly the declared types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Remote(BaseModel):
    """A part of another system's answer: what is used is strict, members that are not used are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _service_url(text: str) -> str:
    """Accept https anywhere and http on this machine only, because the client sends tokens there."""
    url = URL(text)
    if url.scheme not in {"https", "http"} or not url.host or url.user or url.query_string or url.fragment:
        raise ValueError("must be an http(s) URL with a host and without user, query and fragment")
    if url.scheme == "http" and not _loopback(url.host):
        raise ValueError("must be https unless the host is this machine")
    return text.rstrip("/")


ServiceUrl = Annotated[str, AfterValidator(_service_url)]


class Settings(BaseModel):
    """A pack's settings, from text: closed, and never shown in an error. Those of the type SecretStr are secret."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    timeout: float = Field(default=10.0, gt=0, le=_MAX_TIMEOUT)


S = TypeVar("S", bound=Settings)
P = TypeVar("P", bound=Params)


def faults(error: ValidationError) -> str:
    """Say in one line what does not fit and where, without the values."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, item['loc'])) or '(whole)'}: {item['msg']}" for item in found)


def read_settings(model: type[S], settings: Mapping[str, str], pack: str) -> S:
    """Parse a pack's settings; ValueError names each one that is unknown or wrong."""
    try:
        return model.model_validate(dict(settings))
    except ValidationError as error:
        raise ValueError(f"settings of pack {pack}: {faults(error)}") from None


def read_params(model: type[P], call: Call) -> P:
    """Parse the params of a call, so that nothing unchecked reaches a URL or a query, or raise RefusedError."""
    try:
        return model.model_validate(call.params)
    except ValidationError as error:
        raise RefusedError(f"{call.operation}: params do not fit: {faults(error)}") from None
