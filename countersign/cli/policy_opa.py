"""The command `policy opa-config`: the configuration of an OPA of your own."""

from pathlib import Path
from typing import Annotated

import typer

from countersign.cli.command import own_settings
from countersign.cli.options import output as to_output


def opa_config(
    *,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Base URL of the edge, as OPA reaches it. Default: COUNTERSIGN_PUBLIC_URL, else this machine.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file from which OPA reads the bearer token. Default: its variable COUNTERSIGN_POLICY_TOKEN.",
        ),
    ] = None,
    output: Annotated[Path | None, to_output("FILE", "The file to write.")] = None,
) -> None:
    """Print the configuration with which OPA downloads the policy in force and verifies it; it holds no secret.

    OPA takes bundles signed by any key of COUNTERSIGN_POLICY_KEYS. Start it with: opa run --server --config-file FILE.
    """
    from countersign.cli.outputs import write_new
    from countersign.engine import policy_keys
    from countersign.foreseen_errors import OperateError
    from countersign.settings import variable
    from edge.policy_bundle import ROUTE
    from policy.opa_config import BundleSource
    from policy.opa_config import opa_config as config_of

    settings = own_settings()
    base = _checked(url or settings.public_url or f"http://127.0.0.1:{settings.port}")
    keys = policy_keys(settings)
    if not keys:
        raise OperateError(
            "there is no public key of policies: set COUNTERSIGN_POLICY_KEYS, or make"
            " one with `countersign policy install` or `policy build`"
        )
    text = config_of(BundleSource(base, ROUTE, variable("policy_token"), token_file), keys)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_new(output, text.encode())
        typer.echo(f"{output}: trusts {', '.join(key.key_id[:16] for key in keys)}")


def _checked(url: str) -> str:
    """Return a base URL, or raise BadParameter."""
    from pydantic import TypeAdapter, ValidationError

    from countersign.setting_types import HttpUrl

    try:
        return TypeAdapter(HttpUrl).validate_python(url)
    except ValidationError as error:
        message = error.errors(include_url=False, include_input=False)[0]["msg"].removeprefix("Value error, ")
        raise typer.BadParameter(f"{url!r} {message}", param_hint="--url") from error
