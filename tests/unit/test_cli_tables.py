"""Tables on the command line show data as it is."""

import pytest

from countersign.cli.command import show_rows


def test_a_value_between_colons_is_no_emoji(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows([{"reference": "access:three:rita"}], ["reference"], as_json=False)
    assert "access:three:rita" in capsys.readouterr().out
