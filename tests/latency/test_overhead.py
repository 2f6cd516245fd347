"""What a message costs beside its processing."""

import pytest

from brokerwise.latency.overhead import Overhead
from brokerwise.model.errors import InputError


def test_what_is_not_named_is_as_by_default() -> None:
    assert Overhead.parse("") == Overhead()
    found = Overhead.parse("receive_ms=0.2, factor=1.1")
    assert found == Overhead(receive_ms=0.2, factor=1.1)
    assert Overhead(**found.as_json()) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("receive=1", "found 'receive=1', expected NAME=NUMBER"),
        ("factor", "found 'factor'"),
        ("factor=x", "found 'factor=x'"),
        ("path_ms=-1", "path_ms of the overhead: found -1"),
        ("path_ms=nan", "path_ms of the overhead: found nan"),
        ("factor=0", "a factor of 0"),
        ("lost=1", "a lost share of 1"),
    ],
)
def test_what_is_no_overhead_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Overhead.parse(text)
