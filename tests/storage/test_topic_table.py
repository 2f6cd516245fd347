"""Topics to co-locate: from CSV files, with every fault named, and from workloads."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from brokerwise.model.errors import InputError
from brokerwise.model.workload import Workload
from brokerwise.storage.place import Place
from brokerwise.storage.topic_table import TopicSource, read_topic_source
from brokerwise.storage.workload import read_header, write_workload

HEAD = "topic,processing_ms,rate_per_second"


def read(path: Path, content: str | bytes, target: float | None = 250.0) -> TopicSource:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(data)
    return read_topic_source(Place(str(path)), target)


def test_topics_with_and_without_targets_are_read_as_they_stand(tmp_path: Path) -> None:
    text = f"{HEAD},target_ms\nb, 5 ,20,100\n\n  \na,2.5,4e1,\n"
    table = read(tmp_path / "t.csv", text).table
    assert list(table.names) == ["b", "a"]
    assert table.processing_ms.tolist() == [5.0, 2.5]
    assert table.rate_per_second.tolist() == [20.0, 40.0]
    assert table.target_ms.tolist() == [100.0, 250.0]


def test_columns_may_stand_in_any_order_beside_others(tmp_path: Path) -> None:
    text = 'note,rate_per_second,topic,processing_ms\nx,3,"a,b",7\n'
    table = read(tmp_path / "t.csv", text).table
    assert list(table.names) == ["a,b"]
    assert (table.rate_per_second[0], table.processing_ms[0]) == (3.0, 7.0)


def test_marks_line_ends_and_gzip_make_no_difference(tmp_path: Path) -> None:
    text = f"{HEAD}\na,1,2\nb,3,4\n"
    plain = read(tmp_path / "t.csv", text)
    for content in (
        b"\xef\xbb\xbf" + text.encode(),
        text.replace("\n", "\r\n").encode(),
        gzip.compress(text.encode()),
    ):
        other = read(tmp_path / "t.csv", content)
        assert list(other.table.names) == list(plain.table.names)
        assert other.table.rate_per_second.tolist() == [2.0, 4.0]
        assert other.digest != plain.digest


def test_no_topics_are_an_empty_table(tmp_path: Path) -> None:
    assert len(read(tmp_path / "t.csv", f"{HEAD}\n", None).table) == 0


WRONG = {
    "nothing": ("", "t.csv is empty: expected a first line topic,"),
    "a column less": ("topic,processing_ms\n", "no column rate_per_second; its first"),
    "a column twice": (f"{HEAD},topic\n", "column topic is there twice"),
    "a cell less": (f"{HEAD}\na,1\n", "t.csv line 2: 2 columns, expected 3"),
    "no name": (f"{HEAD}\n,1,2\n", "line 2: topic is '', expected a name"),
    "a name twice": (
        f"{HEAD}\na,1,2\n\na,1,2\n",
        "line 4: topic 'a' is there twice, first in line 2",
    ),
    "a word": (f"{HEAD}\na,x,2\n", "line 2: processing_ms is 'x', expected a number"),
    "zero": (f"{HEAD}\na,1,0\n", "line 2: rate_per_second is '0', expected a number"),
    "infinity": (f"{HEAD}\na,inf,2\n", "processing_ms is 'inf', expected a number"),
    "a digit group": (f"{HEAD}\na,1,1_0\n", "rate_per_second is '1_0'"),
    "a bad target": (f"{HEAD},target_ms\na,1,2,-5\n", "line 2: target_ms is '-5'"),
    "half a quote": (f'{HEAD}\n"a,1,2\n', "line 2: unexpected end of data"),
    "bytes": (f"{HEAD}\n".encode() + b"\xff,1,2\n", "line 2: not valid UTF-8"),
    "half a gzip": (gzip.compress(b"topic")[:-5], "is not a whole gzip file"),
}


@pytest.mark.parametrize(("content", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_named_with_file_and_line(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    with pytest.raises(InputError) as found:
        read(tmp_path / "t.csv", content)
    assert message in found.value.message and "t.csv" in found.value.message


def test_a_topic_needs_a_target_from_somewhere(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2: topic 'a' has no target_ms") as found:
        read(tmp_path / "t.csv", f"{HEAD},target_ms\na,1,2,\n", None)
    assert "--target-ms" in found.value.hint
    for target in (0.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="target_ms: found"):
            read(tmp_path / "t.csv", f"{HEAD}\na,1,2\n", target)


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_topic_source(Place(str(tmp_path / "none.csv")), 1.0)
    with pytest.raises(InputError, match="neither a file of topics nor a workload"):
        read_topic_source(Place(str(tmp_path)), 1.0)


def write(path: Path, processing: list[float] | None) -> Place:
    """Topics a, b and c, 2, 0.1 and 0 messages a second."""
    plain = Workload.from_pairs(
        topics=["a", "b", "c", "a"],
        subscribers=["u", "u", "u", "v"],
        rates={"a": 7200, "b": 360, "c": 0},
        period_seconds=3600,
    )
    times = None if processing is None else np.array(processing)
    write_workload(replace(plain, processing_ms=times), Place(str(path)))
    return Place(str(path))


def test_topics_of_a_workload_are_those_that_brokers_process(tmp_path: Path) -> None:
    place = write(tmp_path / "w", [5.0, 10.0, 3.0])
    source = read_topic_source(place, 250.0)
    assert list(source.table.names) == ["a", "b"] and source.left_out == 1
    assert source.table.rate_per_second.tolist() == [2.0, 0.1]
    assert source.table.processing_ms.tolist() == [5.0, 10.0]
    assert source.digest == read_header(place).digest
    with pytest.raises(InputError, match="have no target_ms"):
        read_topic_source(place)
    none = read_topic_source(write(tmp_path / "idle", [0.0, 0.0, 0.0]))
    assert (len(none.table), none.left_out) == (0, 3)


def test_a_workload_without_processing_times_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="have no processing_ms") as found:
        read_topic_source(write(tmp_path / "w", None), 250.0)
    assert "topic,processing_ms,rate_per_second" in found.value.hint
