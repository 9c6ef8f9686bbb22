"""A database's URL is taken or refused before any library sees it, and what is said holds no part of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from countersign.setting_types import check_dsn
from countersign.settings import ConfigError, read_settings

CANARY = "cnry7f"
TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from("@/?#:[]% =&1"), max_size=12)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:p@h:5432/x",
        "postgres://u:p@h/x",
        "postgresql://h",
        "postgresql://u:a%20b%25%40%2F%3F%23%5Bc@h:5432/x",
        "postgresql://u:a:b#c[d]e&f=g$h'(i)*+,;@h:5432/x",
        "postgresql://u:p@[::1]:5432/x?sslmode=require",
        "postgresql://postgres:@/test_12?host=/tmp/folder/data",
        "postgresql://u:pä@h/x",
    ],
)
def test_what_postgresql_takes_is_taken(url: str) -> None:
    check_dsn(url)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (f"postgresql://u:{CANARY} {CANARY}@h:1/x", "a space as %20"),
        (f"postgresql://u:{CANARY}\n@h:1/x", "a space as %20"),
        (f"postgresql://h:1/x?password={CANARY} {CANARY}", "a space as %20"),
        (f"postgresql://u:{CANARY}%zz{CANARY}@h:1/x", "% itself as %25"),
        (f"postgresql://u:{CANARY}%@h:1/x", "% itself as %25"),
        (f"postgresql://u:{CANARY}@{CANARY}@h:1/x", "@ as %40"),
        (f"postgresql://u:{CANARY}/{CANARY}@h:1/x", "/ as %2F"),
        (f"postgresql://u:{CANARY}?{CANARY}=1@h:1/x", "? as %3F"),
        (f"postgresql://u:{CANARY}@h:{CANARY}/x", "host or port is not one"),
        (f"postgresql://u:{CANARY}%00@h:1/x", "as PostgreSQL's own library reads it"),
        (f"postgresql://u:p@h:1/x?{CANARY}=1", "as PostgreSQL's own library reads it"),
        (f"host=h password={CANARY}", "is not postgresql://"),
        (f"postgresql://u:1/{CANARY}@h:1/x", "/ as %2F"),
        (f"postgresql://u:1?user={CANARY}@h:1/x", "? as %3F"),
        (f"postgresql://u:{CANARY}@h1:1,h2:2/x", "host or port is not one"),
        (f"mysql://u:{CANARY}@h/x", "is not postgresql://"),
        (CANARY, "is not postgresql://"),
    ],
)
def test_what_is_wrong_names_the_variable_and_what_to_write_and_nothing_of_the_value(
    url: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTERSIGN_DATABASE_URL", url)
    with pytest.raises(ConfigError, match=r"^COUNTERSIGN_DATABASE_URL: ") as refused:
        read_settings()
    assert says in str(refused.value)
    assert CANARY not in str(refused.value)


@given(before=TEXT, after=TEXT)
def test_any_password_is_refused_without_a_word_of_it_or_taken_whole(before: str, after: str) -> None:
    url = f"postgresql://user:{before}{CANARY}{after}@host:5432/name"
    said = fault(url)
    assert CANARY not in said
    if not said:
        read = conninfo_to_dict(url)
        assert (read["user"], read["host"], read["port"], read["dbname"]) == ("user", "host", "5432", "name")


def fault(url: str) -> str:
    try:
        check_dsn(url)
    except ValueError as error:
        return str(error)
    return ""
