"""Every picture of the documentation, by its name in docs/images, and where it comes from."""

SIZE_LIMIT = 150_000
"""Bytes of one picture."""

WIDE, PHONE = (1440, 900), (390, 844)
CASE = {
    "card-all": WIDE,
    "card-finished": WIDE,
    "card-modal": WIDE,
    "card-pending": WIDE,
    "card-phone": PHONE,
    "report-page": (1440, 1560),
    "report-phone": PHONE,
    "verify-page": (1440, 1900),
    "verify-phone": PHONE,
}
"""Taken of a case that is played: width and height in pixels."""

GALLERY = {
    "card-break-glass": "break-glass-wide",
    "card-edit": "edit-form-wide",
    "card-edit-phone": "edit-form-narrow",
    "card-glass-form": "glass-form-wide",
    "card-glass-form-phone": "glass-form-narrow",
    "card-glass-review": "glass-review-wide",
    "card-glass-review-phone": "glass-review-narrow",
    "form": "request-form-wide",
    "form-faults-phone": "request-form-faults-narrow",
    "home-before-vote-narrow": "home-before-vote-narrow",
    "home-before-vote-wide": "home-before-vote-wide",
    "home-waiting-narrow": "home-waiting-narrow",
    "home-waiting-narrow-dark": "home-waiting-narrow-dark",
    "home-waiting-wide": "home-waiting-wide",
    "home-waiting-wide-dark": "home-waiting-wide-dark",
    "passkey-page": "passkey-wide",
    "passkey-phone": "passkey-narrow",
}
"""Taken of the gallery: its picture, which is a name there and a size."""


def scenes() -> tuple[str, ...]:
    """Return the names of the gallery of which there are pictures."""
    return tuple({picture.removesuffix("-dark").rpartition("-")[0] for picture in GALLERY.values()})
