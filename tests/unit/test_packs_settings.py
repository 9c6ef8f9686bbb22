"""The settings of packs: closed, checked, and never shown."""

from collections.abc import Mapping

import pytest
from countersign_access_request.handlers import handlers as access
from countersign_incident_triage.handlers import handlers as triage
from countersign_kyc.handlers import handlers as kyc
from countersign_kyc.settings import GLEIF_URL, KycSettings

from countersign.engine import load_packs, offered_handlers
from countersign.settings import ROOT, Settings
from runtime.definitions.cel.expressions import compile_expression
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.registry import HandlerRegistryError
from tests.functions import installed


def test_pack_loads_without_settings() -> None:
    assert {"register::file_report", "portal::request_documents"} <= kyc({}).keys()
    assert {"servicenow::assign", "triage::classify"} <= triage({}).keys()
    assert {"access::grant", "access::revoke"} <= access({}).keys()


def test_only_listed_packs_offer_handlers_and_those_that_come_with_the_program_are_listed() -> None:
    offered = {name.partition("::")[0] for name in offered_handlers(Settings())}
    kyc_alone = {name.partition("::")[0] for name in offered_handlers(Settings(packs=[ROOT / "packs/kyc"]))}
    assert {"register", "servicenow"} <= offered
    assert "register" in kyc_alone
    assert "servicenow" not in kyc_alone


def test_expressions_know_the_functions_of_listed_packs_once_these_are_loaded() -> None:
    kyc_alone, access_alone = (Settings(packs=[ROOT / "packs" / name]) for name in ("kyc", "access-request"))
    with installed():
        load_packs(kyc_alone, offered_handlers(kyc_alone))
        assert compile_expression("kyc_is_lei('x')").functions == ("kyc_is_lei",)
        load_packs(access_alone, offered_handlers(access_alone))
        with pytest.raises(ExpressionError, match="unknown function 'kyc_is_lei'"):
            compile_expression("kyc_is_lei('x')")


def test_gleif_is_the_public_api_unless_set() -> None:
    assert KycSettings().gleif_url == GLEIF_URL == "https://api.gleif.org/api/v1"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kyc": {"portal_token": "s3cret!"}}, "settings: portal_token has fewer than 8 characters"),
        ({"kyc": {"portal_token": "s3cret-value", "register_token": "s3cret!"}}, "settings: register_token has fewer"),
        (
            {"incident-triage": {"servicenow_user": "u", "servicenow_password": "s3cret!"}},
            "servicenow_password has fewer",
        ),
    ],
)
def test_secret_that_is_too_short_is_refused_and_named(given: dict[str, dict[str, str]], says: str) -> None:
    with pytest.raises(HandlerRegistryError) as refused:
        offered_handlers(Settings(pack=given))
    assert says in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_secret_that_is_empty_is_not_set() -> None:
    assert offered_handlers(Settings(pack={"kyc": {"portal_token": ""}}))


def test_unknown_setting_is_named() -> None:
    with pytest.raises(ValueError, match="settings of pack kyc: register_urll: "):
        kyc({"register_urll": "https://register.example"})


@pytest.mark.parametrize(
    "url",
    [
        "http://register.example",
        "ftp://register.example",
        "https://user:pw@register.example",
        "https://register.example?x=1",
        "https://register.example#x",
        "register.example",
    ],
)
def test_url_must_be_https_or_this_machine_and_bare(url: str) -> None:
    with pytest.raises(ValueError, match="register_url"):
        kyc({"register_url": url})


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/x", "http://localhost", "http://[::1]:1", "https://a.example/"])
def test_this_machine_may_be_plain_http(url: str) -> None:
    assert kyc({"register_url": url})


@pytest.mark.parametrize("timeout", ["0", "-1", "121", "soon", "nan"])
def test_timeout_must_be_a_sensible_number(timeout: str) -> None:
    with pytest.raises(ValueError, match="timeout"):
        kyc({"timeout": timeout})


@pytest.mark.parametrize(
    "settings",
    [
        {"servicenow_user": "u"},
        {"servicenow_password": "s3cret-value"},
        {"servicenow_url": "https://x.example"},
        {
            "servicenow_url": "https://x.example",
            "servicenow_user": "u",
            "servicenow_password": "s3cret-value",
            "servicenow_token": "s3cret-value",
        },
    ],
)
def test_servicenow_wants_exactly_one_way_in_and_errors_hide_secrets(settings: Mapping[str, str]) -> None:
    with pytest.raises(ValueError, match="servicenow_user") as caught:
        triage(settings)
    assert "s3cret-value" not in str(caught.value)
