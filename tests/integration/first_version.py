"""The first version of a policy, as an installation brings it into force."""

from datetime import datetime

from policy.contract import PolicyText
from policy.keys import PolicyKey
from policy.signing import sign_bundle
from runtime.services import policy_versions
from runtime.services.policy_versions import INSTALLATION, InForce, NewPolicyVersion
from runtime.store.database.pool import Conn
from tests.bench import TENANT


async def install_first(conn: Conn, text: PolicyText, key: PolicyKey, now: datetime, bundle: bytes = b"") -> InForce:
    """Bring a text into force; `bundle` is what is stored as its bundle, if not the right one."""
    signed = bundle or sign_bundle(text, key).data
    new = NewPolicyVersion(text, signed, "[]", TENANT, INSTALLATION, "came with the installation", None)
    return await policy_versions.install(conn, new, now)
