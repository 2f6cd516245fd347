"""Rows of every format, field by field, and what is wrong with bad ones."""

import gzip
import json
import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from brokerwise.kernels.delimited import MAX_LINE_BYTES
from brokerwise.model.errors import InputError
from brokerwise.pipeline.ingest import rows as reading
from brokerwise.pipeline.ingest.options import IngestOptions
from brokerwise.pipeline.ingest.reasons import reason_text
from brokerwise.pipeline.ingest.rows import ABSENT, Rows, read_rows
from brokerwise.pipeline.ingest.sources import (
    EVENTS,
    PAIRS,
    RATES,
    SUBSCRIBERS,
    Kind,
    Source,
    Split,
    find_sources,
    split_sources,
)

NOON = 1_357_732_800 * 10**6  # 2013-01-09T12:00:00Z, in microseconds


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rows")


def source_of(path: Path, kind: Kind = PAIRS, **options: Any) -> Source:
    chosen = IngestOptions(pairs=(str(path),), rates=("-",), **options)
    (source,) = find_sources(kind, [str(path)], chosen.reading(kind), 0)
    return source


def read(source: Source, chunk_bytes: int = 64) -> list[Rows]:
    groups = split_sources([source])
    return [
        rows
        for group in groups
        for split in group
        for rows in read_rows(split, chunk_bytes)
    ]


def good(source: Source) -> list[tuple[Any, ...]]:
    """The good rows as tuples, in the order of the kind's roles."""
    found: list[tuple[Any, ...]] = []
    for rows in read(source):
        columns = {r: texts(rows, r) for r in rows.names}
        columns |= {r: v.tolist() for r, v in rows.numbers.items()}
        order = [columns[r] for r in source.kind.roles if r in columns]
        found += zip(*order, strict=True)
    return found


def texts(rows: Rows, role: str) -> list[str]:
    spans, text = rows.names[role], rows.buffer.tobytes()
    return [text[a:b].decode() for a, b in zip(spans.starts, spans.ends, strict=True)]


def bad(source: Source) -> list[tuple[int, str]]:
    """Where the rejected rows are, and why they were."""
    found = []
    for rows in read(source):
        rejects = rows.rejects
        assert rows.count == len(rows.position) + len(rejects.position)
        for position, reason, which in zip(
            rejects.position, rejects.reason, rejects.found, strict=True
        ):
            text = reason_text(source, int(reason), int(which))
            found.append((int(position), text))
    return found


def write(path: Path, content: str | bytes) -> Path:
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=3)
    return path


def quoted(cells: Sequence[object], delimiter: str) -> str:
    doubled = (str(cell).replace('"', '""') for cell in cells)
    return delimiter.join(f'"{cell}"' for cell in doubled) + "\n"


NAME = st.text(
    st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]),
    min_size=1,
    max_size=12,
)


@given(st.lists(st.tuples(NAME, st.integers(0, 2**63 - 1)), max_size=12))
def test_all_formats_give_the_same_names_and_numbers(
    folder: Path, rows: list[tuple[str, int]]
) -> None:
    header = "topic,rate\n"
    files = [
        write(folder / "r.csv", header + "".join(quoted(r, ",") for r in rows)),
        write(folder / "r.csv.gz", header + "".join(quoted(r, ",") for r in rows)),
        write(folder / "r.tsv", "".join(quoted(r, "\t") for r in rows)),
        write(folder / "r.txt", "# rates\n" + "".join(quoted(r, " \t") for r in rows)),
        write(
            folder / "r.jsonl",
            "".join(json.dumps({"rate": n, "topic": t}) + "\n" for t, n in rows),
        ),
        write_parquet(
            folder / "r.parquet",
            rate=pa.array([n for _, n in rows], pa.int64()),
            topic=pa.array([t for t, _ in rows], pa.string()),
        ),
    ]
    for path in files:
        source = source_of(path, RATES, header=path.name.startswith("r.csv"))
        assert good(source) == rows, path.name
        assert bad(source) == []


@pytest.mark.parametrize("chunk_bytes", [1, 7, 1000])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl"])
def test_positions_are_where_the_lines_start(
    folder: Path, chunk_bytes: int, ending: str
) -> None:
    lines = ["a,u1", "", "bad", "b,u2", "c,u3"]
    if ending == ".jsonl":
        lines = ['{"topic":1,"subscriber":2}', "", "bad", '{"topic":3,"subscriber":4}']
    text = "".join(f"{line}\r\n" for line in lines)
    source = source_of(write(folder / f"p{ending}", text))
    starts = {line: text.index(line) for line in lines if line}
    found = read(source, chunk_bytes)
    positions = [int(p) for rows in found for p in rows.position]
    assert positions == [at for line, at in starts.items() if line != "bad"]
    rejected = [int(p) for rows in found for p in rows.rejects.position]
    assert rejected == [starts["bad"]]


LONG = "x" * 1025
BAD_PAIRS = {
    "a": "1 column, expected 2 (topic,subscriber)",
    "a,b,c": "3 columns, expected 2 (topic,subscriber)",
    ",u": "empty topic",
    "a,": "empty subscriber",
    '"",u': "empty topic",
    '"a,u': "quote not closed",
    '"a"b,u': "text after a closing quote",
    f"a,{LONG}": "subscriber over 1,024 bytes",
    f"{'é' * 513},u": "topic over 1,024 bytes",
    "\udcff,u": "topic is not valid UTF-8",
    "a,\udced\udca0\udc80": "subscriber is not valid UTF-8",
    "a," + "x" * MAX_LINE_BYTES: "line over 1,048,576 bytes",
}


@pytest.mark.parametrize("line", BAD_PAIRS, ids=lambda line: str(ascii(line[:12])))
def test_a_bad_pair_has_its_reason(folder: Path, line: str) -> None:
    text = f"a,u1\n{line}\nb,u2\n".encode("utf-8", "surrogateescape")
    for source in (
        source_of(write(folder / "p.csv", text)),
        source_of(write(folder / "p.csv.gz", text)),
    ):
        assert good(source) == [("a", "u1"), ("b", "u2")]
        assert bad(source) == [(5, BAD_PAIRS[line])]


BAD_RATES = {
    "": "empty rate",
    "  ": "empty rate",
    "x": "rate is not a whole number",
    "1.5": "rate is not a whole number",
    "-3": "negative rate",
    "9223372036854775808": "rate over 9,223,372,036,854,775,807",
}


@pytest.mark.parametrize("cell", BAD_RATES)
def test_a_bad_rate_has_its_reason(folder: Path, cell: str) -> None:
    source = source_of(write(folder / "r.csv", f"a,1\nb,{cell}\n"), RATES)
    assert good(source) == [("a", 1)]
    assert bad(source) == [(4, BAD_RATES[cell])]


def test_events_have_a_time_and_perhaps_bytes(folder: Path) -> None:
    text = "a,1357732800,5\nb,2013-01-09T12:00:00.5Z,\nc,noon,1\nd,,1\ne,1,x\n"
    source = source_of(write(folder / "e.csv", text), EVENTS)
    assert good(source) == [("a", NOON, 5), ("b", NOON + 500_000, ABSENT)]
    assert bad(source) == [
        (text.index("c,"), "time is neither Unix seconds nor ISO 8601"),
        (text.index("d,"), "empty time"),
        (text.index("e,"), "bytes is not a whole number"),
    ]


def test_subscribers_may_have_a_threshold_and_a_place(folder: Path) -> None:
    text = "a,5,1.5,-2e3\nb,,,\nc,1,x,0\nd,1,0,1_0\ne,1,inf,0\nf,1,0,nan\ng,-1,0,0\n"
    source = source_of(write(folder / "s.csv", text), SUBSCRIBERS)
    first, second = good(source)
    assert first == ("a", 5, 1.5, -2000.0)
    assert second[:2] == ("b", ABSENT)
    assert np.isnan(second[2:]).all()
    assert [reason for _, reason in bad(source)] == [
        "x is not a number",
        "y is not a number",
        "x is not a number",
        "y is not a number",
        "negative threshold",
    ]


def test_doubled_quotes_are_resolved_in_quoted_fields_only(folder: Path) -> None:
    text = '"say ""hi""","""u"""\na""b,"c""d"\n"""",x""\n'
    source = source_of(write(folder / "p.csv", text))
    assert good(source) == [('say "hi"', '"u"'), ('a""b', 'c"d'), ('"', 'x""')]


def test_columns_that_are_not_wanted_may_hold_anything(folder: Path) -> None:
    text = b'subscriber,junk,topic\nu,"\xff ""x""",t\nv,,s\n'
    source = source_of(write(folder / "p.csv", text))
    assert good(source) == [("t", "u"), ("s", "v")]


def objects(folder: Path, *lines: str | bytes, kind: Kind = PAIRS) -> Source:
    encoded = [ln if isinstance(ln, bytes) else ln.encode() for ln in lines]
    return source_of(write(folder / "o.jsonl", b"\n".join(encoded)), kind)


def test_json_numbers_are_names_as_people_write_them(folder: Path) -> None:
    source = objects(
        folder,
        '{"topic": 7, "subscriber": 1.5}',
        '{"topic": 12345678901234567890123, "subscriber": -0.25}',
        '{"topic": 7.0, "subscriber": 1e3}',
        '{"subscriber": 1e16, "topic": "7"}\r',
    )
    assert good(source) == [
        ("7", "1.5"),
        ("12345678901234567890123", "-0.25"),
        ("7", "1000"),
        ("7", "10000000000000000"),
    ]
    assert bad(source) == []


def test_json_rates_may_be_written_in_any_way_that_is_whole(folder: Path) -> None:
    rates = ["5", "5.0", "5e0", '"5"', '" 5 "', "1e18", '"5.0"']
    lines = [f'{{"topic":"t","rate":{rate}}}' for rate in rates]
    source = objects(folder, *lines, kind=RATES)
    assert [rate for _, rate in good(source)] == [5, 5, 5, 5, 5, 10**18, 5]
    assert bad(source) == []


BAD_OBJECTS: dict[str | bytes, str] = {
    '{"topic": null, "subscriber": "u"}': "empty topic",
    '{"topic": "t"}': "empty subscriber",
    '{"topic": "", "subscriber": "u"}': "empty topic",
    '{"topic": {"a": 1}, "subscriber": "u"}': "topic is neither text nor a number",
    '{"topic": "t", "subscriber": [1]}': "subscriber is neither text nor a number",
    '{"topic": true, "subscriber": "u"}': "topic is neither text nor a number",
    '["t", "u"]': "not a JSON object",
    "null": "not a JSON object",
    "{": "not a JSON object",
    '{"topic": "t", "subscriber": "u"} x': "not a JSON object",
    '{"topic": "t", "subscriber": NaN}': "not a JSON object",
    '{"topic": "\\ud800", "subscriber": "u"}': "not a JSON object",
    '{"topic": 1, "subscriber": ' + "1" * 5000 + "}": "not a JSON object",
    '{"topic": ' + "[" * 50_000 + "]" * 50_000 + "}": "not a JSON object",
    b'{"topic": "\xff", "subscriber": "u"}': "not valid UTF-8",
    f'{{"topic": "{LONG}", "subscriber": "u"}}': "topic over 1,024 bytes",
    '{"topic": "' + "x" * MAX_LINE_BYTES: "line over 1,048,576 bytes",
    " " * (MAX_LINE_BYTES + 1): "line over 1,048,576 bytes",
}


@pytest.mark.parametrize("line", BAD_OBJECTS, ids=lambda line: str(ascii(line[:40])))
def test_a_bad_object_has_its_reason(folder: Path, line: str | bytes) -> None:
    ok = '{"topic": "t", "subscriber": "u"}'
    source = objects(folder, ok, "", line, "  \r", ok)
    assert good(source) == [("t", "u"), ("t", "u")]
    assert bad(source) == [(len(ok) + 2, BAD_OBJECTS[line])]


def test_of_two_equal_keys_the_last_counts(folder: Path) -> None:
    source = objects(folder, '{"topic": 1, "subscriber": 2, "topic": 3, "more": [4]}')
    assert good(source) == [("3", "2")]


def test_json_rates_and_times_are_checked_as_text_is(folder: Path) -> None:
    lines = ["-1", "1.5", '"x"', "1e19", "null", '""', "9223372036854775808"]
    rates = objects(folder, *(f'{{"topic":"t","rate":{n}}}' for n in lines), kind=RATES)
    assert [reason for _, reason in bad(rates)] == [
        "negative rate",
        "rate is not a whole number",
        "rate is not a whole number",
        "rate over 9,223,372,036,854,775,807",
        "empty rate",
        "empty rate",
        "rate over 9,223,372,036,854,775,807",
    ]
    times = ["1357732800", "1357732800.25", '"2013-01-09T13:00+01:00"', "1.3577328e9"]
    events = objects(
        folder, *(f'{{"topic":"t","time":{t}}}' for t in times), kind=EVENTS
    )
    assert good(events) == [
        ("t", NOON, ABSENT),
        ("t", NOON + 250_000, ABSENT),
        ("t", NOON, ABSENT),
        ("t", NOON, ABSENT),
    ]


UUIDS = [uuid.UUID(int=5), uuid.UUID("12345678-9abc-def0-1234-56789abcdef0")]

PARQUET_NAMES = [
    (pa.array([7, 8]), ["7", "8"]),
    (pa.array([7, 2**64 - 1], pa.uint64()), ["7", "18446744073709551615"]),
    (pa.array([7.0, 0.5]), ["7", "0.5"]),
    (pa.array([1e16, 12345678901.0]), ["10000000000000000", "12345678901"]),
    (pa.array([0.5, 2.0], pa.float32()), ["0.5", "2"]),
    (pa.array(["é", "🎈"], pa.large_string()), ["é", "🎈"]),
    (pa.array(["é", "🎈"], pa.string_view()), ["é", "🎈"]),
    (pa.array(["b", "a"]).dictionary_encode(), ["b", "a"]),
    (pa.array([b"b", "é".encode()]), ["b", "é"]),
    (pa.array([b"b", b"a"], pa.large_binary()), ["b", "a"]),
    (pa.array([b"bb", b"aa"], pa.binary(2)), ["bb", "aa"]),
    (pa.array([u.bytes for u in UUIDS], pa.uuid()), [str(u) for u in UUIDS]),
    (pa.array([Decimal("7.50"), Decimal("8.00")]), ["7.50", "8.00"]),
    (pa.array([date(2013, 1, 9), date(1, 1, 1)]), ["2013-01-09", "0001-01-01"]),
]


@pytest.mark.parametrize(
    ("column", "names"), PARQUET_NAMES, ids=[str(c.type) for c, _ in PARQUET_NAMES]
)
def test_parquet_columns_of_many_types_are_names(
    folder: Path, column: pa.Array, names: list[str]
) -> None:
    again = pa.concat_arrays([column] * 4)
    who = pa.array(["u"] * len(again))
    source = source_of(write_parquet(folder / "p.parquet", topic=again, subscriber=who))
    assert good(source) == [(name, "u") for name in names * 4]


def test_parquet_nulls_and_bad_cells_have_their_reasons(folder: Path) -> None:
    spoiled = pa.array([b"\xff\xfe", b"ok", b"ok", None, b"ok"]).view(pa.binary())
    topic = pa.StringArray.from_buffers(5, *spoiled.buffers()[1:], spoiled.buffers()[0])
    rate = pa.array([1, None, -1, 1, 2])
    source = source_of(
        write_parquet(folder / "r.parquet", rate=rate, topic=topic), RATES
    )
    assert good(source) == [("ok", 2)]
    assert bad(source) == [
        (0, "topic is not valid UTF-8"),
        (1, "empty rate"),
        (2, "negative rate"),
        (3, "empty topic"),
    ]


def test_parquet_doubles_with_gaps_are_rates(folder: Path) -> None:
    rates = pa.array([5.0, float("nan"), None, 1e15, 12345678901.0, 1.5])
    topics = pa.array([f"t{i}" for i in range(6)])
    source = source_of(
        write_parquet(folder / "r.parquet", topic=topics, rate=rates), RATES
    )
    assert good(source) == [("t0", 5), ("t3", 10**15), ("t4", 12345678901)]
    assert [reason for _, reason in bad(source)] == [
        "empty rate",
        "empty rate",
        "rate is not a whole number",
    ]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris", "-03:30"])
def test_parquet_timestamps_are_moments(
    folder: Path, unit: str, zone: str | None
) -> None:
    times = pa.array([0, 1_357_732_800, -1], pa.int64())
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    scaled = pa.array([t.as_py() * scale for t in times])
    column = scaled.cast(pa.timestamp(unit, zone))
    topics = pa.array(["a", "b", "c"])
    source = source_of(
        write_parquet(folder / "e.parquet", topic=topics, time=column), EVENTS
    )
    assert good(source) == [("a", 0), ("b", NOON), ("c", -(10**6))]


def test_parquet_times_of_other_types(folder: Path) -> None:
    columns: list[tuple[pa.Array, int]] = [
        (pa.array([1_357_732_800]), NOON),
        (pa.array([1_357_732_800.25]), NOON + 250_000),
        (pa.array([123_456_789_012.25]), 123_456_789_012_250_000),
        (pa.array(["2013-01-09 12:00"]), NOON),
        (pa.array([date(2013, 1, 9)]), NOON - 12 * 3600 * 10**6),
        (pa.array([NOON * 1000 + 1999], pa.timestamp("ns")), NOON + 1),
        (pa.array([datetime(2013, 1, 9, 12, tzinfo=UTC)]), NOON),
    ]
    for column, expected in columns:
        path = write_parquet(folder / "e.parquet", topic=pa.array(["t"]), time=column)
        assert good(source_of(path, EVENTS)) == [("t", expected)], column.type


def test_a_parquet_batch_that_is_too_large_comes_in_parts(folder: Path) -> None:
    names = [f"topic-{i}" for i in range(50)]
    path = folder / "p.parquet"
    pq.write_table(pa.table({"topic": names, "subscriber": names}), path)
    with patch.object(reading, "_BUFFER_BYTES", 400):
        source = source_of(path)
        assert len(read(source)) > 5
        assert good(source) == [(name, name) for name in names]
    with patch.object(reading, "_BUFFER_BYTES", 10):
        assert good(source) == []
        expected = [(i, "line over 1,048,576 bytes") for i in range(50)]
        assert bad(source) == expected


def test_damaged_parquet_is_named(folder: Path) -> None:
    path = folder / "damaged.parquet"
    names = [f"t{i % 7}" for i in range(500)]
    pq.write_table(pa.table({"topic": names, "subscriber": names}), path)
    content = bytearray(path.read_bytes())
    content[20:60] = bytes(40)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"damaged\.parquet cannot be read"):
        read(source_of(path))


def test_row_groups_keep_their_row_numbers(folder: Path) -> None:
    names = ["a", "", "b", "c", "d", "", "e", ""]
    source = source_of(
        write_parquet(folder / "p.parquet", topic=names, subscriber=list(range(8)))
    )
    parts = [Split(source, group, group + 1, 1) for group in range(3)]
    found = [rows for part in parts for rows in read_rows(part)]
    rejected = [int(p) for rows in found for p in rows.rejects.position]
    assert rejected == [1, 5, 7]
    assert [int(p) for rows in found for p in rows.position] == [0, 2, 3, 4, 6]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1]]),
        pa.array([{"a": 1}]),
        pa.array([True]),
        pa.array([5]).cast("duration[s]"),
    ],
    ids=["list", "struct", "bool", "duration"],
)
def test_a_parquet_column_of_a_strange_type_is_refused(
    folder: Path, column: pa.Array
) -> None:
    path = write_parquet(folder / "p.parquet", topic=column, subscriber=["u"])
    with pytest.raises(
        InputError, match=r"column topic for the topic holds .*expected"
    ):
        source_of(path)


@pytest.mark.parametrize("name", ["e.csv", "e.tsv.gz", "e.txt", "e.jsonl"])
def test_an_empty_file_has_no_rows(folder: Path, name: str) -> None:
    for content in (b"", b"\n", b"\r\n\r\n", b"\xef\xbb\xbf"):
        source = source_of(write(folder / name, content))
        assert good(source) == []
        assert bad(source) == []


def test_an_empty_parquet_file_has_no_rows(folder: Path) -> None:
    path = write_parquet(
        folder / "e.parquet",
        topic=pa.array([], pa.string()),
        subscriber=pa.array([], pa.int64()),
    )
    assert read(source_of(path)) == []


@given(
    st.lists(st.binary(max_size=20), max_size=6),
    st.sampled_from(["csv", "txt", "jsonl"]),
)
def test_any_bytes_are_good_rows_or_rejected_ones(
    folder: Path, lines: list[bytes], ending: str
) -> None:
    content = b"\n".join(lines)
    assume(not content.startswith((b"\xff\xfe", b"\xfe\xff")))  # that is UTF-16
    source = source_of(write(folder / f"any.{ending}", content), header=False)
    for rows in read(source):
        assert rows.count == len(rows.position) + len(rows.rejects.position)
        for role in rows.names:
            assert all(texts(rows, role))
