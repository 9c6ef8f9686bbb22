"""Installations as the rows have them: tokens are read by the vault alone."""

from collections.abc import Mapping
from typing import Any

from receipts.vault import Sealed, Vault
from runtime.model.installed import Installed, Place, Tokens


def sealed_of(installation_id: str, tokens: Tokens, vault: Vault) -> Sealed:
    """Return tokens as they are kept, bound to their installation."""
    return vault.seal(tokens.model_dump_json().encode(), installation_id)


def tokens_of(installation_id: str, sealed: Sealed, vault: Vault) -> Tokens:
    """Return what is kept; raise VaultError."""
    return Tokens.model_validate_json(vault.open(sealed, installation_id))


def installed_of(row: Mapping[str, Any], vault: Vault) -> Installed:
    """Return the installation that a row has; raise VaultError."""
    sealed = Sealed(row["key_id"], bytes(row["token"]))
    return Installed(
        installation_id=row["installation_id"],
        place=Place(row["team"], row["enterprise"]),
        name=row["name"],
        bot_user=row["bot_user"],
        bot_id=row["bot_id"],
        scopes=tuple(row["scopes"]),
        installed_at=row["installed_at"],
        tokens=tokens_of(row["installation_id"], sealed, vault),
    )
