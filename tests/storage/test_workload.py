"""Workload directories: what is written is what is read, or it is refused."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.interests import Interests
from brokerwise.model.names import Names
from brokerwise.model.workload import NO_THRESHOLD, Workload
from brokerwise.storage import workload as storage
from brokerwise.storage.place import Place
from brokerwise.storage.workload import (
    digest_of,
    read_header,
    read_workload,
    write_workload,
)

names = st.text(st.sampled_from("abé€\U00010000"), min_size=1, max_size=3)
numbers = st.floats(-10, 10) | st.just(float("nan")) | st.just(-0.0)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    rates = draw(st.dictionaries(names, st.integers(0, 3), max_size=6))
    pair = st.tuples(st.sampled_from(sorted(rates) or ["none"]), names)
    pairs = draw(st.lists(pair, max_size=12 if rates else 0))
    made = Workload.from_pairs(
        topics=[t for t, _ in pairs],
        subscribers=[s for _, s in pairs],
        rates=rates,
        period_seconds=draw(st.integers(1, 10**6)),
        message_bytes=draw(st.integers(1, 10**4)),
    )
    count = made.subscribers
    threshold = st.integers(NO_THRESHOLD, 9) | st.just(2**63 - 1)
    thresholds = draw(st.none() | st.lists(threshold, min_size=count, max_size=count))
    xy = st.tuples(numbers, numbers)
    places = draw(st.none() | st.lists(xy, min_size=count, max_size=count))
    each = made.topics
    whole, time = st.integers(0, 9), st.floats(0, 40)
    publishers = draw(st.none() | st.lists(whole, min_size=each, max_size=each))
    processing = draw(st.none() | st.lists(time, min_size=each, max_size=each))
    return replace(
        made,
        publishers=None if publishers is None else np.array(publishers, np.int64),
        processing_ms=None if processing is None else np.array(processing, float),
        thresholds=None if thresholds is None else np.array(thresholds, np.int64),
        places=None if places is None else np.array(places, float).reshape(-1, 2),
    )


def contents(w: Workload) -> list[Any]:
    """All that a workload says, as plain values that can be compared."""
    held = w.subscribers > 0  # without rows, an empty column cannot be told from none
    return [
        w.rates.tolist(),
        list(w.topic_names),
        w.interests.offsets.tolist(),
        w.interests.topics.tolist(),
        list(w.subscriber_names),
        w.period_seconds,
        w.message_bytes,
        w.thresholds.tolist() if held and w.thresholds is not None else None,
        repr(w.places.tolist()) if held and w.places is not None else None,
        w.publishers.tolist() if w.publishers is not None else None,
        w.processing_ms.tolist() if w.processing_ms is not None else None,
    ]


@contextmanager
def layout(*, block: int, pairs_per_part: int) -> Iterator[Place]:
    """A directory to write to, with blocks and parts of these sizes."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as directory:
        for module in ("subscribers", "workload"):
            patch.setattr(f"brokerwise.storage.{module}.BLOCK", block)
        patch.setattr("brokerwise.storage.subscribers.PAIRS_PER_PART", pairs_per_part)
        yield Place(f"{directory}/w")


@settings(max_examples=examples(60))
@given(workloads(), st.integers(1, 4), st.integers(1, 8))
def test_what_was_written_is_read(w: Workload, block: int, pairs_per_part: int) -> None:
    with layout(block=block, pairs_per_part=pairs_per_part) as place:
        header = write_workload(w, place, made_from={"why": "test"})
        assert contents(read_workload(place, verify=True)) == contents(w)
        assert read_header(place) == header
    assert (header.topics, header.subscribers, header.pairs) == (
        w.topics,
        w.subscribers,
        w.pairs,
    )


@settings(max_examples=examples(30))
@given(workloads())
def test_the_digest_does_not_depend_on_the_number_of_files(w: Workload) -> None:
    found = []
    for pairs_per_part in (1, 3, 10**6):
        with layout(block=2, pairs_per_part=pairs_per_part) as place:
            header = write_workload(w, place)
            found.append((header.digest, header.digests))
            files = len(header.files["interests"])
            assert files == len(list(Path(place.uri, "interests").iterdir()))
    assert found[0] == found[1] == found[2]


def test_publishers_and_processing_change_the_digest_only_if_there_are_any(
    small: Workload,
) -> None:
    # Of the same workload before topics could have them.
    before = "8db0cce4202aea859d00e8aa0a06bdf63d6b3f325b4c76745e74e5243f979043"
    assert digest_of(replace(small, publishers=None)) == before
    publishers = np.array([1, 2, 3])
    found = {
        digest_of(small),
        digest_of(replace(small, publishers=publishers)),
        digest_of(replace(small, publishers=publishers + 1)),
        digest_of(replace(small, processing_ms=publishers)),
        digest_of(replace(small, processing_ms=publishers, publishers=publishers)),
    }
    assert len(found) == 5


def test_a_topic_without_the_number_that_others_have_is_refused(
    small: Workload, tmp_path: Path
) -> None:
    place = Place(str(tmp_path / "w"))
    header = write_workload(replace(small, publishers=np.array([1, 2, 3])), place)
    file = tmp_path / "w" / "topics" / header.files["topics"][0]
    table = pq.read_table(file)
    for values, reason in (
        (pa.array([1, None, 3]), "column 'publishers' has missing values"),
        (pa.array(["1", "2", "3"]), "column 'publishers' is string, expected int64"),
    ):
        pq.write_table(table.set_column(3, "publishers", values), file)
        with pytest.raises(InputError, match=reason):
            read_workload(place)


def test_parts_are_cut_between_blocks() -> None:
    w = Workload.from_pairs(topics=[0] * 8, subscribers=list("abcdefgh"), rates=[1])
    with layout(block=2, pairs_per_part=4) as place:
        header = write_workload(w, place)
        files = [Path(place.uri, "interests", f) for f in header.files["interests"]]
        ids = [pq.read_table(f)["subscriber"].to_pylist() for f in files]
    assert ids == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.fixture
def small() -> Workload:
    return Workload(
        rates=np.array([9, 4, 4]),
        interests=Interests(np.array([0, 2, 3, 3]), np.array([0, 2, 1], np.int32)),
        topic_names=Names.of(["news", "a", "b"]),
        subscriber_names=Names.of(["u1", "u2", "u3"]),
        thresholds=np.array([5, NO_THRESHOLD, 0]),
        places=np.array([[0, 1], [np.nan, np.nan], [2.5, -3]]),
    )


@pytest.fixture
def written(small: Workload, tmp_path: Path) -> Place:
    place = Place(str(tmp_path / "w"))
    write_workload(small, place)
    return place


CHANGES: dict[str, dict[str, Any]] = {
    "a rate": {"rates": np.array([9, 4, 3])},
    "the name of a topic": {"topic_names": Names.of(["News", "a", "b"])},
    "the name of a subscriber": {"subscriber_names": Names.of(["u1", "u2", "u4"])},
    "where names end": {"subscriber_names": Names.of(["u", "u1u", "u2u3"])},
    "an interest": {
        "interests": Interests(np.array([0, 2, 3, 3]), np.array([0, 1, 1], np.int32))
    },
    "whose interest it is": {
        "interests": Interests(np.array([0, 2, 2, 3]), np.array([0, 2, 1], np.int32))
    },
    "a threshold": {"thresholds": np.array([5, NO_THRESHOLD, 1])},
    "a threshold that was none": {"thresholds": np.array([5, 0, 0])},
    "all thresholds": {"thresholds": None},
    "an x": {"places": np.array([[0, 1], [np.nan, np.nan], [2, -3]])},
    "a y": {"places": np.array([[0, 1], [np.nan, 0], [2.5, -3]])},
    "all places": {"places": None},
    "the period": {"period_seconds": 1},
    "the size of a message": {"message_bytes": 1},
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_changes_with(change: str, small: Workload, tmp_path: Path) -> None:
    one = write_workload(small, Place(str(tmp_path / "one")))
    same = write_workload(small, Place(str(tmp_path / "same")), made_from={"x": 1})
    other = write_workload(
        replace(small, **CHANGES[change]), Place(str(tmp_path / "other"))
    )
    assert one.digest == same.digest
    assert one.digest != other.digest


@pytest.mark.parametrize("extra", ["topic", "subscriber"])
def test_the_digest_counts_what_nobody_wants(extra: str, tmp_path: Path) -> None:
    rates = {"a": 1, "b": 0}
    one = Workload.from_pairs(topics=["a"], subscribers=["u"], rates=rates)
    if extra == "topic":
        other = Workload.from_pairs(topics=["a"], subscribers=["u"], rates={"a": 1})
    else:
        lists = Interests(np.array([0, 1, 1]), np.array([0], np.int32))
        other = replace(one, interests=lists, subscriber_names=Names.of(["u", "v"]))
    digests = [
        write_workload(w, Place(str(tmp_path / name))).digest
        for name, w in (("one", one), ("other", other))
    ]
    assert digests[0] != digests[1]


def edit(file: Path, column: str, change: Callable[[list[Any]], list[Any]]) -> None:
    """Rewrite a column of a file, all else as it was."""
    table = pq.read_table(file)
    at = table.column_names.index(column)
    field = table.schema.field(at)
    values = pa.array(change(table[column].to_pylist()), field.type)
    pq.write_table(table.set_column(at, field, values), file)


FLIPS: dict[str, tuple[str, str, Callable[[list[Any]], list[Any]]]] = {
    "a rate": ("topics", "rate", lambda v: [10, *v[1:]]),
    "the name of a topic": ("topics", "name", lambda v: ["New", *v[1:]]),
    "an interest": ("interests", "topics", lambda v: [[0, 1], *v[1:]]),
    "the name of a subscriber": ("subscribers", "name", lambda v: ["u0", *v[1:]]),
    "a threshold": ("subscribers", "threshold", lambda v: [6, *v[1:]]),
    "a missing threshold": ("subscribers", "threshold", lambda v: [None, *v[1:]]),
    "an x": ("subscribers", "x", lambda v: [0.5, *v[1:]]),
    "a y": ("subscribers", "y", lambda v: [None, *v[1:]]),
}


@pytest.mark.parametrize("flip", FLIPS)
def test_verify_finds_a_change_of(flip: str, written: Place) -> None:
    table, column, change = FLIPS[flip]
    edit(Path(written.uri, table, "part-00000.parquet"), column, change)
    read_workload(written)
    with pytest.raises(DigestMismatchError, match=f"^{written.uri}/{table} has digest"):
        read_workload(written, verify=True)


@pytest.mark.parametrize("table", ["interests", "subscribers"])
def test_ids_that_do_not_count_up_are_refused(table: str, written: Place) -> None:
    file = Path(written.uri, table, "part-00000.parquet")
    edit(file, "subscriber", lambda ids: [ids[0], ids[2], ids[1]])
    with pytest.raises(InputError, match=f"{table}/part-00000.parquet must have the "):
        read_workload(written)


def test_topics_that_are_not_numbered_from_0_are_refused(written: Place) -> None:
    file = Path(written.uri, "topics", "part-00000.parquet")
    edit(file, "topic", lambda ids: [1, 0, 2])
    with pytest.raises(InputError, match="topics must be numbered from 0, in order"):
        read_workload(written)


def test_subscribers_without_a_row_in_both_tables_are_refused(written: Place) -> None:
    file = Path(written.uri, "subscribers", "part-00000.parquet")
    table = pq.read_table(file)
    pq.write_table(table, file, row_group_size=2)
    with pytest.raises(InputError, match=r"has 1 row groups, .* has 2"):
        read_workload(written)
    pq.write_table(table[:2], file)
    with pytest.raises(InputError, match="must have the subscribers from 0 to 2"):
        read_workload(written)


@pytest.mark.parametrize(
    ("key", "value", "error", "text"),
    [
        ("period_seconds", 5, DigestMismatchError, "/workload.json has digest"),
        ("digest", "0" * 64, DigestMismatchError, "/workload.json has digest"),
        ("topics", 4, InputError, ": its files hold 3 topics, workload.json says 4"),
        ("subscribers", 9, InputError, ": its files hold 3 subscribers, workload.json"),
        ("pairs", 0, InputError, ": its files hold 3 pairs, workload.json says 0"),
    ],
)
def test_a_header_that_was_edited_is_refused(
    key: str, value: Any, error: type[InputError], text: str, written: Place
) -> None:
    file = Path(written.uri, "workload.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    with pytest.raises(error, match=f"^{written.uri}{text}"):
        read_workload(written, verify=True)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("pairs", "missing required field `pairs`"),
        ("files", "missing required field `files`"),
        ("format", "found format None, expected 1"),
    ],
)
def test_a_header_without_a_key_is_refused(key: str, text: str, written: Place) -> None:
    file = Path(written.uri, "workload.json")
    content = json.loads(file.read_text())
    del content[key]
    file.write_text(json.dumps(content))
    with pytest.raises(InputError, match=f"^{file}: .*{text}"):
        read_header(written)


def test_a_directory_that_is_no_workload_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no workload\.json") as refused:
        read_workload(Place(str(tmp_path)))
    assert "brokerwise ingest" in refused.value.hint


def test_only_files_that_the_header_names_are_read(
    small: Workload, written: Place
) -> None:
    for table in ("topics", "interests", "subscribers"):
        named = Path(written.uri, table, "part-00000.parquet")
        named.with_name("part-00001.parquet").write_bytes(named.read_bytes())
    assert contents(read_workload(written, verify=True)) == contents(small)


@pytest.mark.parametrize("table", ["topics", "interests", "subscribers"])
def test_a_file_that_is_missing_or_damaged_is_named(table: str, written: Place) -> None:
    file = Path(written.uri, table, "part-00000.parquet")
    file.write_bytes(b"not Parquet at all")
    with pytest.raises(InputError, match=f"^{file} cannot be read: "):
        read_workload(written)
    file.unlink()
    with pytest.raises(InputError, match=f"^{file} is missing: "):
        read_workload(written)


def test_a_workload_is_written_once_unless_forced(
    small: Workload, written: Place
) -> None:
    other = replace(small, period_seconds=1)
    with pytest.raises(InputError, match="exists already; nothing was written"):
        write_workload(other, written)
    assert read_header(written).period_seconds == small.period_seconds
    write_workload(other, written, force=True)
    assert read_header(written).period_seconds == 1


@pytest.mark.parametrize("step", ["write_part", "write_topics"])
def test_a_write_that_fails_leaves_the_old_one(
    step: str, small: Workload, written: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(storage, step, fail)
    with pytest.raises(OSError, match="disk full"):
        write_workload(replace(small, period_seconds=1), written, force=True)
    monkeypatch.undo()
    assert contents(read_workload(written, verify=True)) == contents(small)
    assert [p.name for p in Path(written.uri).parent.iterdir()] == ["w"]


def test_a_directory_that_looks_like_a_partition_changes_nothing(
    small: Workload, tmp_path: Path
) -> None:
    place = Place(str(tmp_path / "rate=7" / "w"))
    write_workload(small, place)
    assert contents(read_workload(place, verify=True)) == contents(small)
