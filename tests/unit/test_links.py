"""Our own links: what is one, and what is not."""

import pytest

from runtime.services.links import Linked, LinkTo, read_link, request_link, run_link

URL = "https://countersign.example"


def test_a_link_is_read_as_it_was_given_out() -> None:
    assert read_link(URL, request_link(URL, "apr_1f")) == Linked(LinkTo.REQUEST, "apr_1f")
    assert read_link(URL, run_link(URL, "run_1f")) == Linked(LinkTo.RUN, "run_1f")


def test_without_an_address_there_is_no_link() -> None:
    assert request_link("", "apr_1") == run_link("", "run_1") == ""
    assert read_link("", "/requests/apr_1") is None


@pytest.mark.parametrize(
    "address",
    [
        *(f"{URL}/requests/", f"{URL}/requests/apr_1/", f"{URL}/requests/apr_1?x=1", f"{URL}/requests/apr_1#top"),
        *(f"{URL}/requests/apr 1", f"{URL}/requests/apr_1\n", f"{URL}/requests/..%2Fx", f"{URL}/passkeys/token"),
        *(f"{URL}:443/requests/apr_1", f"{URL}.evil.example/requests/apr_1", f"{URL}@evil.example/requests/apr_1"),
        *("http://countersign.example/requests/apr_1", "https://evil.example/requests/apr_1", "requests/apr_1", ""),
        f"{URL}/requests/{'a' * 129}",
    ],
)
def test_what_is_not_to_the_letter_a_link_of_ours_is_none(address: str) -> None:
    assert read_link(URL, address) is None
