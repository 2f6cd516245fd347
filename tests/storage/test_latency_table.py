"""Others' tables: read as they are, or refused by file, row and column."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from brokerwise.model.errors import InputError
from brokerwise.storage.latency_table import (
    Columns,
    LatencyTable,
    read_latency_table,
)
from brokerwise.storage.place import Place

COLUMNS = Columns("idx", "p", ("a", "b"))
TEXT = "idx,a,b,p,c\n7,1,0.5,10,x\n7,2,0,1e2,y\n3,3,-1,30.5,\n"


def read(folder: Path, text: str, columns: Columns = COLUMNS) -> LatencyTable:
    file = folder / "t.csv"
    file.write_text(text)
    return read_latency_table(Place(str(file)), columns)


def test_columns_are_taken_by_name(tmp_path: Path) -> None:
    table = read(tmp_path, TEXT)
    assert table.group.tolist() == [0, 0, 1]
    assert table.p90_ms.tolist() == [10, 100, 30.5]
    assert table.inputs.tolist() == [[1, 0.5], [2, 0], [3, -1]]
    assert (table.topics, len(table)) == (2, 3)


def test_a_parquet_file_gives_the_same(tmp_path: Path) -> None:
    table = read(tmp_path, TEXT)
    file = tmp_path / "t.parquet"
    pq.write_table(pacsv.read_csv(tmp_path / "t.csv"), file)
    assert read_latency_table(Place(str(file)), COLUMNS).digest == table.digest
    assert read(tmp_path, TEXT.replace("30.5", "30.6")).digest != table.digest


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",10,", ",nan,", "p of row 1: found 'nan', expected a number"),
        ("1e2", "0", "p of row 2: found '0.0', expected a number above 0"),
        ("1e2", "-4", "p of row 2: found '-4.0', expected a number above 0"),
        ("2,0,", "2,,", "b of row 2: found '', expected a number"),
        ("3,3,-1", "3,many,-1", "a of row 3: found 'many', expected a number"),
        ("1,0.5", "1,inf", "b of row 1: found 'inf', expected a number"),
    ],
)
def test_what_is_no_number_is_named(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, TEXT.replace(old, new))
    assert caught.value.message == f"{tmp_path / 't.csv'}: {message}"


def test_how_many_more_there_are_is_said(tmp_path: Path) -> None:
    text = TEXT.replace(",10,", ",,").replace("30.5", "")
    with pytest.raises(InputError, match=r"row 1: .* \(and 1 more row\)"):
        read(tmp_path, text)


def test_columns_that_are_not_there_are_named_with_those_that_are(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match="has no column 'q', 'r'") as caught:
        read(tmp_path, TEXT, Columns("idx", "q", ("a", "r")))
    assert caught.value.details == ("it has idx, a, b, p, c",)


def test_a_parquet_column_of_another_kind_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    columns = {"idx": ["u", "u"], "a": [True, False], "b": [1, None], "p": [1, 2]}
    pq.write_table(pa.table(columns), file)
    with pytest.raises(InputError, match="column 'a' is bool, expected numbers"):
        read_latency_table(Place(str(file)), COLUMNS)
    with pytest.raises(InputError, match="b of row 2: found 'None'"):
        read_latency_table(Place(str(file)), Columns("idx", "p", ("b",)))
    pq.write_table(pa.table({**columns, "idx": ["u", None], "b": [1, 2]}), file)
    with pytest.raises(InputError, match=r"column 'idx' has missing values \(1\)"):
        read_latency_table(Place(str(file)), Columns("idx", "p", ("b",)))


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.csv does not exist"):
        read_latency_table(Place(str(tmp_path / "no.csv")), COLUMNS)
    with pytest.raises(InputError, match="has no rows"):
        read(tmp_path, "idx,a,b,p\n")
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"t\.parquet cannot be read"):
        read_latency_table(Place(str(tmp_path / "t.parquet")), COLUMNS)
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path, "")


def test_every_column_is_used_for_one_thing() -> None:
    for columns in (("g", "p", ()), ("g", "g", ("a",)), ("g", "p", ("a", "a"))):
        with pytest.raises(InputError, match="each another column"):
            Columns(*columns)
