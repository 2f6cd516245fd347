"""How a refusal points at the place."""

from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.data_cluster.sql.errors import RefusedQueryError


def test_it_shows_the_line_and_a_caret_under_the_place() -> None:
    error = RefusedQueryError("no", "SELECT a\r\n  FROM t", 12)
    assert str(error) == "line 2, column 3: no"
    assert error.reason == "no"
    assert error.snippet == "  FROM t"
    assert error.details == ("  FROM t", "  ^")


def test_without_a_place_it_gives_the_reason_alone() -> None:
    error = RefusedQueryError("no", "SELECT a")
    assert (str(error), error.details) == ("no", ())
    assert (error.line, error.column, error.snippet) == (0, 0, "")


@given(st.text("ab\t\n", max_size=300), st.data())
def test_the_caret_is_under_the_character(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    shown, caret = RefusedQueryError("no", text, start).details
    assert len(shown) <= 100
    below = (shown + " ")[len(caret) - 1]
    assert below == ((text + "\n")[start] if start < len(text) else "\n").replace(
        "\t", " "
    ).replace("\n", " ")
