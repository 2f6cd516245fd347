"""Names by a part of them."""

from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.names import Names
from brokerwise.show.view import Hits, Search

NAMES = st.lists(st.text("ab%", max_size=4), max_size=30)


@given(NAMES, st.text("ab%", min_size=1, max_size=2), st.integers(1, 5))
def test_exact_then_beginning_then_anywhere(
    names: list[str], text: str, most: int
) -> None:
    def rank(name: str) -> int:
        return 0 if name == text else 1 if name.startswith(text) else 2

    expected = [n for n, name in enumerate(names) if text in name]
    expected.sort(key=lambda n: (rank(names[n]), n))
    found = Search(Names.of(names)).hits(text, most)
    assert found == Hits(tuple(expected[:most]), len(expected) > most)


def test_letters_of_all_alphabets_are_found() -> None:
    assert Search(Names.of(["straße", "東京", "a"])).hits("東").numbers == (1,)


def test_nothing_finds_nothing() -> None:
    assert Search(Names.of(["", "a"])).hits("") == Hits()
