"""Which files are read, in which format, and where their columns are."""

import gzip
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.kernels.delimited import MAX_LINE_BYTES
from brokerwise.model.errors import InputError
from brokerwise.pipeline.ingest.options import IngestOptions
from brokerwise.pipeline.ingest.rows import read_rows
from brokerwise.pipeline.ingest.sources import (
    EVENTS,
    PAIRS,
    RATES,
    SUBSCRIBERS,
    Kind,
    Source,
    columns_taken,
    find_sources,
    split_sources,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


def find(*paths: object, kind: Kind = PAIRS, **options: Any) -> list[Source]:
    given_paths = [str(path) for path in paths]
    chosen = IngestOptions(pairs=tuple(given_paths), rates=("-",), **options)
    return find_sources(kind, given_paths, chosen.reading(kind), 0)


def found(
    path: Path, content: str | bytes, kind: Kind = PAIRS, **options: Any
) -> Source:
    """The one source that a new file makes."""
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    (source,) = find(path, kind=kind, **options)
    return source


def columns(source: Source) -> dict[str, int | str]:
    return dict(zip(source.roles, source.columns, strict=True))


def first_names(source: Source) -> list[str]:
    """The first name of each good row."""
    splits = [split for group in split_sources([source]) for split in group]
    names = []
    for rows in (rows for split in splits for rows in read_rows(split)):
        spans = rows.names[source.kind.required[0]]
        text = rows.buffer.tobytes()
        names += [text[a:b] for a, b in zip(spans.starts, spans.ends, strict=True)]
    return [name.decode() for name in names]


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a,b\n")


def names(sources: list[Source]) -> list[str]:
    return [os.path.basename(source.uri) for source in sources]


def test_a_directory_is_all_its_files_but_hidden_ones(tmp_path: Path) -> None:
    data = tmp_path / "data"
    touch(data / "b.csv", data / "a.tsv", data / "2024" / "c.csv")
    touch(data / "_SUCCESS", data / ".b.csv.crc", data / "_temporary" / "d.csv")
    sources = find(data)
    assert names(sources) == ["c.csv", "a.tsv", "b.csv"]
    assert [source.index for source in sources] == [0, 1, 2]
    assert [source.format for source in sources] == ["csv", "tsv", "csv"]
    assert [source.size for source in sources] == [4, 4, 4]


def test_a_pattern_is_the_files_that_match(tmp_path: Path) -> None:
    touch(tmp_path / "p1.csv", tmp_path / "p2.csv", tmp_path / "q.csv")
    touch(tmp_path / "_SUCCESS", tmp_path / "more" / "p3.csv")
    assert names(find(tmp_path / "p?.csv")) == ["p1.csv", "p2.csv"]
    assert names(find(tmp_path / "*")) == ["p3.csv", "p1.csv", "p2.csv", "q.csv"]
    assert names(find(tmp_path / "**" / "p[23].csv")) == ["p3.csv", "p2.csv"]
    with pytest.raises(InputError, match="--pairs: no file matches"):
        find(tmp_path / "z*.csv")


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    touch(tmp_path / "p[1].csv", tmp_path / "p1.csv", tmp_path / "a?b.csv")
    assert names(find(tmp_path / "p[1].csv")) == ["p[1].csv"]
    assert names(find(tmp_path / "a?b.csv")) == ["a?b.csv"]


def test_a_file_that_is_named_twice_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path / "p.csv", tmp_path / "q.csv")
    monkeypatch.chdir(tmp_path)
    sources = find("p.csv", "./p.csv", tmp_path / "p.csv", tmp_path)
    assert names(sources) == ["q.csv", "p.csv"]
    assert sources[1].uri == str(tmp_path / "p.csv")
    assert sources[1].name == "p.csv"


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--rates: .*gone\.csv does not exist"):
        find(tmp_path / "gone.csv", kind=RATES)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="has no data file in it"):
        find(tmp_path / "empty")


@pytest.mark.parametrize(
    ("name", "format_", "gzipped"),
    [
        ("a.csv", "csv", False),
        ("a.CSV", "csv", False),
        ("a.b.tsv.gz", "tsv", True),
        ("a.tab", "tsv", False),
        ("a.txt", "whitespace", False),
        ("a.edges.GZ", "whitespace", True),
        ("a.el", "whitespace", False),
        ("a.ndjson", "jsonl", False),
        ("a.jsonl.gz", "jsonl", True),
    ],
)
def test_the_name_tells_the_format(
    folder: Path, name: str, format_: str, gzipped: bool
) -> None:
    path = folder / name
    path.write_bytes(gzip.compress(b"") if gzipped else b"")
    (source,) = find(path)
    assert (source.format, source.gzipped) == (format_, gzipped)


def test_an_unknown_ending_needs_a_format(tmp_path: Path) -> None:
    touch(tmp_path / "part-00000")
    with pytest.raises(InputError, match="cannot tell its format") as caught:
        find(tmp_path / "part-00000")
    assert caught.value.hint == "Name it with --format."
    (source,) = find(tmp_path / "part-00000", format="csv")
    assert first_names(source) == ["a"]
    with pytest.raises(InputError, match="expected one of csv, tsv"):
        find(tmp_path / "part-00000", format="xml")


def test_the_told_format_counts_more_than_the_name(folder: Path) -> None:
    source = found(folder / "a.txt", "a b,c d\n", format="csv")
    assert first_names(source) == ["a b"]
    source = found(folder / "a.csv.gz", "a,b c,d\n", format="whitespace")
    assert first_names(source) == ["a,b"]


def test_parquet_is_not_read_through_gzip(tmp_path: Path) -> None:
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress(b"PAR1"))
    with pytest.raises(InputError, match="cannot be read through gzip"):
        find(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"a,b\n", b"PAR1" + bytes(40) + b"PAR1"]
)
def test_what_is_no_parquet_is_said_to_be_none(folder: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="is not a Parquet file"):
        found(folder / "bad.parquet", content)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("topic,subscriber", {"topic": 0, "subscriber": 1}),
        ("subscriber,topic", {"subscriber": 0, "topic": 1}),
        ("x,subscriber,y,topic", {"subscriber": 1, "topic": 3}),
        ('"topic","subscriber"', {"topic": 0, "subscriber": 1}),
        ("Topic, SUBSCRIBER ", {"topic": 0, "subscriber": 1}),
        ("Topic,subscriber,topic", {"subscriber": 1, "topic": 2}),
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_header_is_recognized_by_its_names(
    folder: Path, header: str, expected: dict[str, int], ending: str
) -> None:
    row = ",".join(f"v{i}" for i in range(header.count(",") + 1))
    source = found(folder / f"h{ending}", f"\r\n{header}\r\n{row}\n")
    assert columns(source) == expected
    assert list(source.roles) == list(expected)
    assert source.width == header.count(",") + 1
    assert first_names(source) == [f"v{expected['topic']}"]


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\n  # another\n\ntopic subscriber\nv0 v1\n",
        "topic\t  subscriber \r\nv0 v1\r\n",
        '"topic" "subscriber"\nv0 v1\n',
    ],
)
def test_a_header_may_be_among_blanks(folder: Path, text: str) -> None:
    source = found(folder / "h.txt", text)
    assert columns(source) == {"topic": 0, "subscriber": 1}
    assert first_names(source) == ["v0"]


def test_whether_there_is_a_header_can_be_told(folder: Path) -> None:
    text = "topic,subscriber\na,b\n"
    assert first_names(found(folder / "h.csv", text)) == ["a"]
    assert first_names(found(folder / "h.csv", text, header=True)) == ["a"]
    assert first_names(found(folder / "h.csv", text, header=False)) == ["topic", "a"]
    other = "who,what\na,b\n"
    assert first_names(found(folder / "h.csv", other)) == ["who", "a"]
    assert first_names(found(folder / "h.csv", other, header=True)) == ["a"]


def test_without_a_header_columns_are_in_their_usual_order(folder: Path) -> None:
    assert columns(found(folder / "n.csv", "a,b\n")) == {"topic": 0, "subscriber": 1}
    events = found(folder / "n.csv", "a,5\n", EVENTS)
    assert columns(events) == {"topic": 0, "time": 1}
    events = found(folder / "n.csv", "a,5,9\n", EVENTS)
    assert columns(events) == {"topic": 0, "time": 1, "bytes": 2}
    people = found(folder / "n.csv", "u,5,0.5,0.5\n", SUBSCRIBERS)
    assert columns(people) == {"name": 0, "threshold": 1, "x": 2, "y": 3}


def test_a_bad_first_row_does_not_set_the_width(folder: Path) -> None:
    for text in ("alice\na,b\n", "a,b,c\na,b\n", '"a\na,b\n'):
        source = found(folder / "n.csv", text)
        assert (source.width, source.first) == (2, 0)
        assert first_names(source) == ["a"]


def test_optional_columns_are_found_by_name_in_any_order(folder: Path) -> None:
    source = found(folder / "s.csv", "y,name,x\n1,u,2\n", SUBSCRIBERS)
    assert columns(source) == {"y": 0, "name": 1, "x": 2}
    assert source.width == 3


def told(**roles: str) -> dict[str, tuple[str, ...]]:
    return {role: tuple(names.split(",")) for role, names in roles.items()}


BY_NAME = [
    ({"topic": "channel"}, "subscriber,channel", "subscriber topic"),
    ({"topic": "what", "subscriber": "who"}, "who,x,what", "subscriber - topic"),
    ({"topic": "channel,topic"}, "topic,subscriber", "topic subscriber"),
    ({"topic": "topic,channel"}, "channel,subscriber", "topic subscriber"),
    ({"topic": "CHANNEL"}, "channel,subscriber", "topic subscriber"),
    ({"topic": "2"}, "subscriber,topic", "subscriber topic"),
]
BY_NUMBER = [
    ({"topic": "2"}, "a,b", "subscriber topic"),
    ({"topic": "2"}, "2,1", "subscriber topic"),
    ({"topic": "1", "subscriber": "3"}, "1,2,3", "topic - subscriber"),
    ({"subscriber": "1"}, "a,b,c", "subscriber topic -"),
    ({"topic": "channel,2"}, "a,b", "subscriber topic"),
    ({"subscriber": "9,2"}, "a,b", "topic subscriber"),
]


@pytest.mark.parametrize(("options", "line", "roles"), BY_NAME + BY_NUMBER)
def test_columns_can_be_told(
    folder: Path, options: dict[str, str], line: str, roles: str
) -> None:
    source = found(folder / "t.csv", f"{line}\n", columns=told(**options))
    order = roles.split()
    assert columns(source) == {r: i for i, r in enumerate(order) if r != "-"}
    assert source.width == len(order)
    named = (options, line, roles) in BY_NAME
    assert source.first == (len(line) + 1 if named else 0)


def test_a_number_in_a_row_is_not_taken_for_a_name(folder: Path) -> None:
    source = found(folder / "t.txt", "1 2\n3 4\n", columns=told(topic="1"))
    assert first_names(source) == ["1", "3"]


def test_other_columns_need_not_be_told(folder: Path) -> None:
    options = told(topic="2", time="4")
    source = found(folder / "t.csv", "9,a,8,5\n", EVENTS, columns=options)
    assert columns(source) == {"bytes": 0, "topic": 1, "time": 3}


def test_what_a_file_may_lack_is_not_guessed_where_columns_are_told(
    folder: Path,
) -> None:
    line = "a,x,3\n"
    options: dict[str, Any] = {"pairs": ("p",), "events": ("e",)}
    told_all = IngestOptions(**options, events_columns={"topic": 1, "time": 3})
    told_one = IngestOptions(**options, events_columns={"time": 3})
    for chosen in (told_all, told_one):
        (folder / "b.csv").write_text(line)
        paths = [str(folder / "b.csv")]
        (source,) = find_sources(EVENTS, paths, chosen.reading(EVENTS), 0)
        assert columns(source) == {"topic": 0, "time": 2}


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        (told(topic="nope"), "a,b\n", r"no column nope for the topic; .*'a,b'"),
        (told(topic="x,y"), "topic,subscriber\n", "no column x or y for the topic"),
        (told(topic="3"), "a,b\n", "no column 3 for the topic"),
        (told(topic="0"), "a,b\n", "no column 0 for the topic"),
        (told(topic="what"), "what,who\n", "no column subscriber for the subscriber"),
        (told(topic="1", subscriber="1"), "a,b\n", "column 1 cannot be both the"),
        (told(topic="1"), "a\n", "no column left for the subscriber"),
        ({}, "topic,user\n", "no column subscriber for the subscriber"),
    ],
)
def test_a_wrong_column_is_named_with_what_there_is(
    folder: Path, options: dict[str, tuple[str, ...]], text: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        found(folder / "w.csv", text, columns=options)
    assert "w.csv" in caught.value.message
    if "no column" in message:
        role = "subscriber" if "the subscriber" in message else "topic"
        assert caught.value.hint == f"Name it with --pairs-columns {role}=COLUMN."


def test_a_told_header_must_have_room_for_all(folder: Path) -> None:
    with pytest.raises(InputError, match="no column left for the subscriber"):
        found(folder / "w.csv", "who\na\n", header=True)
    with pytest.raises(InputError, match="no column channel for the topic"):
        found(
            folder / "w.csv", "channel,x\n", columns=told(topic="channel"), header=False
        )


MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("name", "text", "first"),
    [
        ("b.csv", b"topic,subscriber\na,b\n", 20),
        ("b.csv", b"a,b\n", 3),
        ("b.csv.gz", b"a,b\n", 3),
        ("b.txt", b"# x\na b\n", 7),
        ("b.jsonl", b'{"topic":"a","subscriber":"b"}', 3),
        ("b.jsonl.gz", b'\n{"topic":"a","subscriber":"b"}', 4),
    ],
)
def test_a_byte_order_mark_is_no_part_of_a_name(
    folder: Path, name: str, text: bytes, first: int
) -> None:
    source = found(folder / name, MARK + text)
    assert source.first == first
    assert first_names(source) == ["a"]


@pytest.mark.parametrize("content", [b"", b"\n\r\n", MARK, b"  \n\t\n"])
def test_an_empty_file_has_columns_all_the_same(folder: Path, content: bytes) -> None:
    for name in ("e.csv", "e.txt", "e.csv.gz"):
        source = found(folder / name, content)
        assert columns(source) == {"topic": 0, "subscriber": 1}
        assert first_names(source) == []
    assert first_names(found(folder / "e.jsonl", content)) == []


def test_a_header_without_rows_is_fine(folder: Path) -> None:
    for text in ("topic,subscriber", "topic,subscriber\n", "topic,subscriber\r\n\r\n"):
        source = found(folder / "h.csv", text)
        assert source.first <= len(text)
        assert first_names(source) == []


def test_a_header_may_follow_a_long_comment(folder: Path) -> None:
    text = "#" + "x" * 200_000 + "\n" + "# y\n" * 50_000 + "topic subscriber\na b\n"
    assert first_names(found(folder / "long.txt", text)) == ["a"]
    wide = ",".join(f"column{i}" for i in range(20_000))
    row = "," * 20_000
    source = found(folder / "wide.csv", f"topic,{wide},subscriber\na{row},b\n")
    assert first_names(source) == ["a"]
    source = found(folder / "cell.csv", f"{'x' * 200_000},b\na,b\n")
    assert first_names(source) == ["a"]


def test_a_first_line_without_end_is_an_error(folder: Path) -> None:
    with pytest.raises(InputError, match="a line over 1,048,576 bytes"):
        found(folder / "long.csv", "x" * (MAX_LINE_BYTES + 1) + "\na,b\n")
    longest = "a," + "x" * (MAX_LINE_BYTES - 2)
    assert found(folder / "long.csv", longest + "\na,b\n").first == 0
    line = '\n{"topic":"a","subscriber":"b"}\n'
    source = found(folder / "long.jsonl", "x" * (MAX_LINE_BYTES + 1) + line)
    assert first_names(source) == ["a"]


def test_old_line_ends_are_told_apart_from_columns(folder: Path) -> None:
    with pytest.raises(InputError, match="no column subscriber"):
        found(folder / "mac.csv", "topic,subscriber\ra,b\rc,d\r")


def test_damaged_gzip_is_named(folder: Path) -> None:
    whole = gzip.compress(b"topic,subscriber\na,b\n")
    for content in (whole[:15], b"topic,subscriber\n"):
        (folder / "damaged.csv.gz").write_bytes(content)
        with pytest.raises(InputError, match=r"damaged\.csv\.gz is not a whole gzip"):
            find(folder / "damaged.csv.gz")


def test_a_file_that_may_not_be_read_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("Permission denied")

    monkeypatch.setattr("brokerwise.pipeline.ingest.columns._unpacked", refuse)
    with pytest.raises(InputError, match=r"secret\.csv cannot be read: Permission"):
        found(folder / "secret.csv", "a,b\n")


def test_json_fields_are_told_by_name(folder: Path) -> None:
    line = '{"channel": "a", "subscriber": "b"}\n'
    source = found(folder / "o.jsonl", line, columns=told(topic="topic,channel"))
    assert first_names(source) == ["a"]
    source = found(folder / "o.jsonl", line, columns=told(topic="channel"))
    assert first_names(source) == ["a"]
    source = found(folder / "o.jsonl", "x\n" + line, columns=told(topic="channel"))
    assert columns(source) == {"topic": "channel", "subscriber": "subscriber"}


def parquet(path: Path, *names: str) -> Path:
    arrays = [pa.array([name]) for name in names]
    pq.write_table(pa.Table.from_arrays(arrays, list(names)), path)
    return path


def test_parquet_columns_are_told_by_name_or_number(folder: Path) -> None:
    path = parquet(folder / "p.parquet", "Subscriber", "channel", "x")
    (source,) = find(path, columns=told(topic="topic,channel"))
    assert columns(source) == {"topic": "channel", "subscriber": "Subscriber"}
    assert first_names(source) == ["channel"]
    (source,) = find(path, columns=told(topic="3"))
    assert columns(source) == {"topic": "x", "subscriber": "Subscriber"}
    with pytest.raises(InputError, match=r"no column topic .*'Subscriber,channel,x'"):
        find(path)
    with pytest.raises(InputError, match="no column y for the topic"):
        find(path, columns=told(topic="y"))


def test_a_parquet_column_must_be_the_only_one_of_its_name(folder: Path) -> None:
    path = parquet(folder / "d.parquet", "topic", "subscriber", "topic")
    with pytest.raises(InputError, match="more than one column topic"):
        find(path)


def test_each_file_has_its_own_columns(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("topic,subscriber\na,b\n")
    (tmp_path / "2.csv").write_text("subscriber,topic\na,b\n")
    (tmp_path / "3.csv").write_text("a,b\n")
    parquet(tmp_path / "4.parquet", "subscriber", "topic")
    first = [first_names(source)[0] for source in find(tmp_path)[:3]]
    assert first == ["a", "b", "a"]
    assert [source.first for source in find(tmp_path)] == [17, 17, 0, 0]


@given(
    st.lists(
        st.sampled_from(
            [
                "topic",
                "subscriber",
                "a",
                '"b"',
                " ",
                "\t",
                ",",
                "\r",
                '"',
                "é",
                "#",
                "\n",
            ]
        ),
        max_size=12,
    ).map("".join),
    st.sampled_from(["csv", "tsv", "txt", "jsonl"]),
    st.sampled_from([None, True, False]),
)
def test_any_start_of_a_file_is_understood_or_refused(
    folder: Path, text: str, ending: str, header: bool | None
) -> None:
    try:
        source = found(folder / f"any.{ending}", text, header=header)
    except InputError as error:
        assert "no column" in error.message
        return
    assert 0 <= source.first <= len(text.encode())
    assert set(source.kind.required) <= set(source.roles)
    if source.delimited:
        numbers = [int(column) for column in source.columns]
        assert sorted(set(numbers)) == numbers
        assert numbers[-1] < source.width
    first_names(source)


def test_a_file_with_several_names_is_there_once(tmp_path: Path) -> None:
    touch(tmp_path / "data" / "p.csv")
    (tmp_path / "data" / "again").symlink_to(tmp_path / "data")
    (tmp_path / "link.csv").symlink_to(tmp_path / "data" / "p.csv")
    assert len(find(tmp_path / "data")) == 1
    assert len(find(tmp_path / "data" / "p.csv", tmp_path / "link.csv")) == 1


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="is neither a file nor a directory"):
        find(tmp_path / "pipe.csv")


@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_recognised(tmp_path: Path, coding: str) -> None:
    text = "\ufefftopic,subscriber\na,u\n".encode(coding)
    with pytest.raises(InputError, match=r"p\.csv is UTF-16, expected UTF-8"):
        found(tmp_path / "p.csv", text)


def rows_in(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"topic": ["a"], "subscriber": ["u"]}), path)


TABLES = {
    "Delta": ("_delta_log/00000000000000000000.json", "part-0.parquet"),
    "Iceberg": ("metadata/v1.metadata.json", "data/00000-0.parquet"),
    "Hudi": (".hoodie/hoodie.properties", "2024/a_0-1-0_1.parquet"),
}


@pytest.mark.parametrize("format_", TABLES)
@pytest.mark.parametrize(
    "path",
    ["lake/table", "lake", "lake/table/**/*.parquet", "lake/*", "lake/table/{data}"],
)
def test_a_table_with_a_log_is_refused_however_it_is_reached(
    tmp_path: Path, format_: str, path: str
) -> None:
    mark, data = TABLES[format_]
    table = tmp_path / "lake" / "table"
    touch(table / mark)
    rows_in(table / data)
    with pytest.raises(InputError) as refused:
        find(tmp_path / path.format(data=data))
    assert refused.value.message == (
        f"--pairs: {table} is a {format_} table (it has {mark.split('/')[0]}/): "
        "its files hold rows that were deleted, too"
    )
    assert "plain Parquet" in refused.value.hint


def test_a_folder_of_a_partitioned_table_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "table"
    touch(table / TABLES["Delta"][0])
    rows_in(table / "day=1" / "x.parquet")
    with pytest.raises(InputError, match="is a Delta table"):
        find(tmp_path / "table" / "day=1")
    (tmp_path / "link.parquet").symlink_to(table / "day=1" / "x.parquet")
    with pytest.raises(InputError, match="is a Delta table"):
        find(tmp_path / "link.parquet")


def test_what_only_lies_near_a_table_is_read(tmp_path: Path) -> None:
    touch(tmp_path / "table" / TABLES["Delta"][0])
    rows_in(tmp_path / "other" / "metadata" / "x.parquet", tmp_path / "p.parquet")
    touch(tmp_path / "table" / "export" / "p.csv")  # of another format than any table
    assert names(find(tmp_path / "other", tmp_path / "p.parquet")) == [
        "x.parquet",
        "p.parquet",
    ]
    assert names(find(tmp_path / "table" / "export")) == ["p.csv"]


def test_a_file_uri_may_be_a_pattern(tmp_path: Path) -> None:
    touch(tmp_path / "p1.csv", tmp_path / "p2.csv")
    assert names(find(f"file:{tmp_path}/p?.csv")) == ["p1.csv", "p2.csv"]
    assert find(f"file://{tmp_path}/p1.csv")[0].name == str(tmp_path / "p1.csv")
    with pytest.raises(InputError, match="found the scheme dbfs"):
        find("dbfs:/p*.csv")


def test_each_kind_of_files_has_its_own_columns() -> None:
    options = IngestOptions(
        pairs=("p",),
        events=("e",),
        pairs_columns={"topic": 2, "subscriber": " who "},
        events_columns={"topic": 1, "time": 3},
    )
    assert options.reading(PAIRS).columns == told(topic="2", subscriber="who")
    assert options.reading(EVENTS).columns == told(topic="1", time="3")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"pairs_columns": {"time": 1}},
            "--pairs-columns: found 'time', expected topic or subscriber",
        ),
        (
            {"pairs_columns": {"topic": " "}},
            "--pairs-columns: found no column for the topic",
        ),
        (
            {"events_columns": {"topic": 1}},
            "--events-columns goes with --events: there are none",
        ),
        (
            {"pairs_columns": {"subscriber": 1}, "columns": told(topic="a")},
            "--topic-column and --pairs-columns both say where columns of --pairs are",
        ),
        (
            {"columns": told(topic="2,1")},
            "--topic-column: found '2,1', expected one number, or names",
        ),
        ({"columns": told(topik="a")}, "columns: found 'topik', expected topic, "),
    ],
)
def test_columns_that_cannot_be_meant_are_refused(
    options: dict[str, Any], text: str
) -> None:
    with pytest.raises(InputError) as refused:
        IngestOptions(pairs=("p",), rates=("r",), **options)
    assert refused.value.message.startswith(text)


def test_an_old_option_may_speak_of_other_files() -> None:
    IngestOptions(
        pairs=("p",),
        rates=("r",),
        pairs_columns={"topic": 1},
        columns=told(rate="posts,n"),
    )
    IngestOptions(pairs=("p",), rates=("r",), columns=told(topic="a,2"))


TAKEN = [
    ("h.csv", "who, What ,x\nu,a,1\n", {"topic": "What", "subscriber": "who"}),
    ("n.csv", "u,a\n", {"topic": 2, "subscriber": 1}),
    ("o.jsonl", '{"what": "a", "who": "u"}\n', {"topic": "what", "subscriber": "who"}),
]


@pytest.mark.parametrize(("name", "text", "taken"), TAKEN)
def test_a_source_says_which_columns_were_taken(
    folder: Path, name: str, text: str, taken: dict[str, str | int]
) -> None:
    options = told(topic="what,2", subscriber="who,1")
    assert found(folder / name, text, pairs_columns={}, columns=options).taken == taken


def test_optional_fields_are_taken_where_they_are_seen(folder: Path) -> None:
    line = '{"topic": "a", "time": 3}\n'
    assert found(folder / "e.jsonl", line, EVENTS).taken == {
        "topic": "topic",
        "time": "time",
    }
    path = parquet(folder / "t.parquet", "Subscriber", "topic", "x")
    (source,) = find(path)
    assert source.taken == {"topic": "topic", "subscriber": "Subscriber"}
    assert columns_taken([source, source]) == {"pairs": [source.taken]}


def test_json_lines_have_no_numbers_of_columns(folder: Path) -> None:
    line = '{"topic": "a", "subscriber": "u", "7": "b"}\n'
    with pytest.raises(InputError, match=r"o\.jsonl: found column 1 for the topic"):
        found(folder / "o.jsonl", line, pairs_columns={"topic": 1})
    source = found(folder / "o.jsonl", line, pairs_columns={"topic": 7})
    assert first_names(source) == ["b"]
