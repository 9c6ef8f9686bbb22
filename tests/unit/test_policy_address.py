"""The address of a socket names its path whole, and what is no such address is refused in words of ours."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.address import LONGEST, socket_path, socket_url

FOLDER = st.text(
    st.characters(codec="utf-8", exclude_characters="\0/") | st.sampled_from(" %?#é"), min_size=1, max_size=8
)


@given(st.lists(FOLDER.filter(lambda name: name not in (".", "..")), min_size=1, max_size=3))
def test_the_address_of_a_path_names_that_path(names: list[str]) -> None:
    path = Path("/", *names)
    assert socket_path(socket_url(path)) == str(path)


@pytest.mark.parametrize("url", ["", "opa:8181", "http://opa:8181", "unix", "/run/opa.sock"])
def test_what_names_no_socket_has_no_path(url: str) -> None:
    assert socket_path(url) is None


@pytest.mark.parametrize(
    "url",
    [
        *("unix:", "unix://", "unix:///", "unix:/run/opa.sock", "unix://run/opa.sock"),
        *("unix:////opa.sock", "unix:///run/", "unix:///run//opa.sock"),
        *(f"unix:///run/{odd}.sock" for odd in (" ", "?", "#", "%", "%2", "%zz", "%00", "\n", "\x7f")),
    ],
)
def test_the_path_of_a_socket_has_to_be_whole_and_written_as_in_a_url(url: str) -> None:
    with pytest.raises(ValueError, match=r"^is not unix:///PATH, the whole path of a socket; "):
        socket_path(url)


@pytest.mark.parametrize("last", ["x", "%20"])
def test_a_path_has_as_many_bytes_as_a_socket_may_have_and_no_more(last: str) -> None:
    longest = "/" + "x" * (LONGEST - 2)
    assert len(socket_path(f"unix://{longest}{last}") or "") == LONGEST
    with pytest.raises(
        ValueError, match=f"^names a socket whose path has {LONGEST + 1} bytes: no more than {LONGEST} are possible$"
    ):
        socket_path(f"unix://{longest}x{last}")
