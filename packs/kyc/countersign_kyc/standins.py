"""The pack's stand-ins as one application; `python -m countersign_kyc.standins --port N` serves it on this machine."""

from aiohttp import web
from countersign_connector.standin import application, serve

from countersign_kyc import standin as standin_bloomberg
from countersign_kyc import world_gleif as gleif
from countersign_kyc import world_portal as portal
from countersign_kyc import world_register as register
from runtime.clock import utc_now


def build(complete: portal.Complete | None = None) -> web.Application:
    """Build GLEIF, Bloomberg, the register and the portal; `complete` delivers the portal's completions."""
    return application(
        [
            *gleif.Gleif().routes(),
            *standin_bloomberg.Bloomberg(utc_now).routes(),
            *register.Register().routes(),
            *portal.Portal(complete).routes(),
        ]
    )


def settings(base: str) -> dict[str, str]:
    """Return the pack's settings for stand-ins that are served at `base`."""
    return {
        "gleif_url": f"{base}{gleif.PREFIX}",
        **standin_bloomberg.settings(base),
        "register_url": f"{base}{register.PREFIX}",
        "register_token": register.TOKEN,
        "portal_url": f"{base}{portal.PREFIX}",
        "portal_token": portal.TOKEN,
    }


if __name__ == "__main__":
    serve(build())
