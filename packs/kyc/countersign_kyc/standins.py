"""The pack's stand-ins as one application; `python -m countersign_kyc.standins --port N` serves it on this machine."""

from aiohttp import web
from countersign_connector.standin import application, serve

from countersign_kyc import standin_gleif, standin_portal, standin_register
from countersign_kyc.bloomberg import standin as standin_bloomberg
from runtime.clock import utc_now


def build(complete: standin_portal.Complete | None = None) -> web.Application:
    """Build GLEIF, Bloomberg, the register and the portal; `complete` delivers the portal's completions."""
    return application(
        [
            *standin_gleif.Gleif().routes(),
            *standin_bloomberg.Bloomberg(utc_now).routes(),
            *standin_register.Register().routes(),
            *standin_portal.Portal(complete).routes(),
        ]
    )


def settings(base: str) -> dict[str, str]:
    """Return the pack's settings for stand-ins that are served at `base`."""
    return {
        "gleif_url": f"{base}{standin_gleif.PREFIX}",
        **standin_bloomberg.settings(base),
        "register_url": f"{base}{standin_register.PREFIX}",
        "register_token": standin_register.TOKEN,
        "portal_url": f"{base}{standin_portal.PREFIX}",
        "portal_token": standin_portal.TOKEN,
    }


if __name__ == "__main__":
    serve(build())
