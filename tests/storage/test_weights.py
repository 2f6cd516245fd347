"""Weights from users' files, and in the tables of a plan."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.model.workload import PLAIN, Weights, Workload
from brokerwise.storage.place import Place
from brokerwise.storage.weights import (
    TABLES,
    read_weights,
    weight_tables,
    weighted,
    weights_of,
)


def workload_of(topics: list[str], subscribers: list[str]) -> Workload:
    """Everybody wants the first topic; the others are wanted by nobody."""
    return Workload.from_pairs(
        topics=[topics[0]] * len(subscribers),
        subscribers=subscribers,
        rates=dict.fromkeys(topics, 1),
    )


WORKLOAD = workload_of(["#a", "b, c", "d"], ["u", "v ", "w"])


def read(
    tmp_path: Path, *, topics: str | bytes = "", subscribers: str | bytes | None = None
) -> Weights:
    """What is read from files with these contents; "" is no file at all."""
    files: list[Place | None] = []
    for name, content in (("t.csv", topics), ("s.csv", subscribers)):
        if isinstance(content, str):
            content = content.encode()
        if content:
            (tmp_path / name).write_bytes(content)
        files.append(Place(str(tmp_path / name)) if content else None)
    return read_weights(files[0], files[1], WORKLOAD)


def test_who_is_not_in_a_file_weighs_one(tmp_path: Path) -> None:
    weights = read(tmp_path, topics="d,3\n", subscribers="w,0\nu,1000000")
    assert weights.topics is not None
    assert weights.subscribers is not None
    assert weights.topics.tolist() == [1, 1, 3]
    assert weights.subscribers.tolist() == [1_000_000, 1, 0]


def test_what_has_no_file_has_no_weights(tmp_path: Path) -> None:
    assert read(tmp_path).plain
    weights = read(tmp_path, topics="d,3\n")
    assert weights.subscribers is None


@pytest.mark.parametrize(
    "text",
    [
        '#a,2\n"b, c",5\n',
        'topic,weight\n#a,2\n"b, c",5\n',
        '\ufeffTopic , Weight\r\n\r\n"b, c", 005 \r\n"#a","2"',
        '"topic","weight"\r#a,2\r"b, c",5\r',
    ],
)
def test_names_may_be_quoted_and_a_first_line_name_the_columns(
    text: str, tmp_path: Path
) -> None:
    weights = read(tmp_path, topics=text)
    assert weights.topics is not None
    assert weights.topics.tolist() == [2, 5, 1]


def test_blanks_around_a_name_belong_to_it(tmp_path: Path) -> None:
    weights = read(tmp_path, subscribers="v ,7\n")
    assert weights.subscribers is not None
    assert weights.subscribers.tolist() == [1, 7, 1]


WHOLE = "expected a whole number from 0 to 1,000,000"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#a,1\nx,2\n", "line 2: found topic 'x', expected a topic of the workload"),
        ("d,1\n\nd,1\n", "line 3: found topic 'd' again, it is in line 1 already"),
        ("d,-1\n", f"line 1: found weight '-1', {WHOLE}"),
        ("d,1.5\n", f"line 1: found weight '1.5', {WHOLE}"),
        ("d,1e3\n", f"line 1: found weight '1e3', {WHOLE}"),
        ("d,1000001\n", f"line 1: found weight '1000001', {WHOLE}"),
        ("d,\n", f"line 1: found weight '', {WHOLE}"),
        ("d,²\n", f"line 1: found weight '²', {WHOLE}"),
        ("d,٣\n", f"line 1: found weight '٣', {WHOLE}"),
        ("weight,topic\n", f"line 1: found weight 'topic', {WHOLE}"),
        ("d,1\ntopic,weight\n", f"line 2: found weight 'weight', {WHOLE}"),
        ("d\n", "line 1: found 1 column, expected 2 (topic,weight)"),
        ("topic,weight\nd,1,2\n", "line 2: found 3 columns, expected 2 (topic,weight)"),
        ("b, c,1\n", "line 1: found 3 columns, expected 2 (topic,weight)"),
        ('#a,1\n"d,1\n', "line 2: unexpected end of data"),
        ('"d"x,1\n', "line 1: ',' expected after '\"'"),
        (",1\n", "line 1: found topic '', expected a topic of the workload"),
    ],
)
def test_what_is_not_understood_is_named(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, topics=text)
    assert refused.value.message == f"{tmp_path}/t.csv, {message}"


def test_subscribers_are_called_subscribers(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="found subscriber 'v', expected a subscriber of the workload"
    ):
        read(tmp_path, subscribers="subscriber,weight\nv,1\n")


def test_a_file_that_is_not_there_or_not_text_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv cannot be read"):
        read_weights(Place(str(tmp_path / "none.csv")), None, WORKLOAD)
    with pytest.raises(InputError, match=r"t\.csv: found bytes that are not UTF-8"):
        read(tmp_path, topics="d,1\n".encode("utf-16"))


def test_an_empty_file_has_no_weights_but_is_one(tmp_path: Path) -> None:
    weights = read(tmp_path, topics="\n")
    assert weights.topics is not None
    assert weights.topics.tolist() == [1, 1, 1]


names = st.lists(
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1
    ),
    min_size=1,
    max_size=6,
    unique=True,
)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@given(names, st.data())
def test_any_name_can_be_given_a_weight(names: list[str], data: st.DataObject) -> None:
    workload = workload_of(names, ["u"])
    order = data.draw(st.permutations(names))
    given = {name: number for number, name in enumerate(order[: len(order) // 2 + 1])}
    text = "topic,weight\n" + "".join(f"{quoted(n)},{w}\r\n" for n, w in given.items())
    with TemporaryDirectory() as folder:
        file = Place(f"{folder}/weights.csv")
        file.write(text.encode())
        weights = read_weights(file, None, workload)
    assert weights.topics is not None
    found = dict(zip(workload.topic_names, weights.topics.tolist(), strict=True))
    assert found == dict.fromkeys(names, 1) | given


some_weights = st.none() | st.lists(st.sampled_from([0, 1, 1, 2, 10**6]), max_size=6)


@given(some_weights, some_weights)
def test_tables_hold_what_differs_from_one(
    topics: list[int] | None, subscribers: list[int] | None
) -> None:
    arrays = [
        None if v is None else np.array(v, np.int64) for v in (topics, subscribers)
    ]
    tables = weight_tables(Weights(*arrays))
    numbers = weighted(Weights(*arrays))
    for name, values in zip(TABLES, (topics, subscribers), strict=True):
        assert (name in tables) == (name in numbers) == (values is not None)
        if values is not None:
            assert tables[name].schema == TABLES[name]
            ids, weights = tables[name].to_pydict().values()
            assert dict(zip(ids, weights, strict=True)) == {
                id: weight for id, weight in enumerate(values) if weight != 1
            }
    files = {name: Place(name) for name in tables}
    again = weights_of(files, tables, numbers)
    for found, values in ((again.topics, topics), (again.subscribers, subscribers)):
        assert (None if found is None else found.tolist()) == values


def test_no_tables_are_no_weights() -> None:
    assert weight_tables(PLAIN) == {}
    assert weights_of({}, {}, {}).plain


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"topic": [0, 3], "weight": [2, 2]}, "found topic 3, expected each at most"),
        ({"topic": [1, 0], "weight": [2, 2]}, "found topic 0, expected each at most"),
        ({"topic": [1, 1], "weight": [2, 2]}, "found topic 1, expected each at most"),
        ({"topic": [-1], "weight": [2]}, "found topic -1, expected each at most once"),
        ({"topic": [0], "weight": [-2]}, "found weight -2, expected from 0 to"),
        ({"topic": [0], "weight": [10**7]}, "found weight 10,000,000, expected from 0"),
        ({"topic": [0], "weight": [0.5]}, "column 'weight': found float64"),
        ({"topic": [0, None], "weight": [2, 2]}, "column 'topic': found float64"),
        ({"weight": [2], "topic": [0]}, "found the columns weight, topic, expected"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_by_its_file(
    columns: dict[str, list[float | None]], message: str
) -> None:
    table = pa.table(columns)
    with pytest.raises(InputError, match=f"^p/t: {message}"):
        weights_of(
            {"topic_weights": Place("p/t")},
            {"topic_weights": table},
            {"topic_weights": 3},
        )
