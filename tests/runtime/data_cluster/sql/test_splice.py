"""Where in a text a place of the query that was made of it comes from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.data_cluster.sql.city import PARAMETERS

from brokerwise.runtime.data_cluster.sql.errors import RefusedQueryError
from brokerwise.runtime.data_cluster.sql.splice import splice
from brokerwise.runtime.data_cluster.sql.tree import Node
from brokerwise.runtime.protocol.data import Channel, Column, ColumnType

PIECES = st.lists(
    st.one_of(
        st.sampled_from([f":{name}" for name in PARAMETERS]),
        st.text("ab(\n😀", min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=12,
)


def parsed(pieces: list[str]) -> tuple[str, Node, Channel]:
    """A text of these pieces, and what a parser would find in it."""
    found, length = [], 0
    for piece in pieces:
        if piece.startswith(":"):
            fields = {"name": piece[1:]}
            stop = length + len(piece)
            found.append(Node("analysis.NamedParameter", dict(fields), length, stop))
        length += len(piece)
    used = dict.fromkeys(piece[1:] for piece in pieces if piece.startswith(":"))
    declared = tuple(Column(name, ColumnType.STRING) for name in used)
    query = Node("plans.logical.Project", {"projectList": tuple(found)}, 0, length)
    return "".join(pieces), query, Channel("c", "".join(pieces), 10.0, declared)


@given(PIECES)
def test_every_place_of_the_result_leads_back(pieces: list[str]) -> None:
    text, query, channel = parsed(pieces)
    spliced = splice(query, text, channel)
    start = spliced.text.index("LATERAL (\n") + len("LATERAL (\n")
    inner = spliced.text[start:].removesuffix("\n) _r")
    assert inner == "".join(
        f" _s.p_{piece[1:]} " if piece.startswith(":") else piece for piece in pieces
    )
    place, result = 0, start
    for piece in pieces:
        if piece.startswith(":"):
            column = len(f" _s.p_{piece[1:]} ")
            assert {spliced.place(result + i) for i in range(column)} == {place}
            result += column
        else:
            for i in range(len(piece)):
                assert spliced.place(result + i) == place + i
            result += len(piece)
        place += len(piece)


def test_a_parameter_that_is_declared_and_not_used_is_named() -> None:
    text, query, channel = parsed(["a = ", ":type"])
    declared = (*channel.parameters, Column("other", ColumnType.LONG))
    with pytest.raises(RefusedQueryError, match=":other is not used"):
        splice(query, text, Channel("c", text, 10.0, declared))


def test_a_parameter_that_is_not_where_the_parser_says_is_refused() -> None:
    _, query, channel = parsed(["a = ", ":type"])
    with pytest.raises(RefusedQueryError, match="without anything between") as refused:
        splice(query, "b = : type", channel)
    assert (refused.value.line, refused.value.column) == (1, 5)
