"""A stream is cut into batches without losing, doubling or renumbering a line."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.client import data_cluster
from brokerwise.runtime.client.data_cluster import Batch, Batches

MOST_LINE = 20  # bytes of a record, in these tests


@pytest.fixture(autouse=True, scope="module")
def short_lines() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_cluster, "MAX_RECORD_BYTES", MOST_LINE)
        yield


def cut(content: bytes, sizes: list[int], **limits: int | None) -> list[Batch]:
    """The batches of a stream that comes in parts of these sizes, again and again."""
    batches = Batches(**limits)  # type: ignore[arg-type]
    found, start = [], 0
    for size in itertools.cycle(sizes):
        if start >= len(content):
            break
        found += list(batches.add(content[start : start + size]))
        start += size
    return [*found, *batches.end()]


lines = st.lists(
    st.one_of(
        st.binary(max_size=MOST_LINE + 5).filter(lambda line: b"\n" not in line),
        st.just(b""),
        st.just(b"x" * (MOST_LINE * 4)),
    ),
    max_size=30,
)
limits = st.fixed_dictionaries(
    {
        "most_bytes": st.integers(MOST_LINE + 1, 100),
        "most_records": st.none() | st.integers(1, 5),
    }
)


@given(lines, st.booleans(), st.lists(st.integers(1, 50), min_size=1), limits)
def test_every_line_is_in_one_batch_under_its_number(
    given_lines: list[bytes],
    ends: bool,
    sizes: list[int],
    limits: dict[str, int | None],
) -> None:
    content = b"\n".join(given_lines) + b"\n" * (ends and bool(given_lines))
    expected = content.split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    batches = cut(content, sizes, **limits)

    found: dict[int, bytes] = {}
    for batch in batches:
        body = batch.body.split(b"\n")
        assert body.pop() == b""
        for number, line in enumerate(body, batch.first_line):
            assert number not in found
            found[number] = line
    too_long = {n for n, line in enumerate(expected, 1) if len(line) > MOST_LINE}
    assert {n for batch in batches for n in batch.too_long} == too_long
    assert found == {
        number: b"" if number in too_long else line
        for number, line in enumerate(expected, 1)
    }
    for batch in batches:
        assert len(batch.body) <= (limits["most_bytes"] or 0)
        assert batch.records <= (limits["most_records"] or batch.records)
        stated = [line for line in batch.body.split(b"\n") if line.strip()]
        assert batch.records == len(stated)


@given(lines, st.lists(st.integers(1, 50), min_size=1), limits)
def test_the_cuts_do_not_depend_on_how_the_stream_comes_and_cover_it(
    given_lines: list[bytes], sizes: list[int], limits: dict[str, int | None]
) -> None:
    content = b"\n".join(given_lines)
    batches = cut(content, sizes, **limits)
    assert batches == cut(content, [len(content) or 1], **limits)
    offset = 0
    for batch in batches:
        assert batch.offset == offset
        offset += batch.length
    assert offset == len(content)


def test_what_has_come_can_be_taken_before_a_batch_is_full() -> None:
    batches = Batches()
    assert batches.rest() is None
    assert list(batches.add(b"a\nb\nhal")) == []
    assert batches.rest() == Batch(b"a\nb\n", 1, 0, 4, 2)
    assert batches.rest() is None
    assert list(batches.add(b"f\n")) == []
    assert list(batches.end()) == [Batch(b"half\n", 3, 4, 5, 1)]


def test_a_line_without_end_is_not_held_in_memory() -> None:
    batches = Batches()
    for _ in range(1_000):
        assert list(batches.add(b"x" * 1_000)) == []
    assert batches._held == []  # noqa: SLF001
    (batch,) = batches.end()
    assert (batch.too_long, batch.records, batch.length) == ((1,), 0, 1_000_000)
