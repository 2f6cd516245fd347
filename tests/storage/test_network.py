"""Network directories: what is written is what is read, or it is refused."""

import json
from collections.abc import Callable
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
from tests.auditing.overlay_cases import network_of, networks
from tests.tiers import examples

from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.names import Names
from brokerwise.model.network import (
    OUT_OF_REACH,
    Network,
    Published,
    Wanted,
    cost_units,
)
from brokerwise.model.subchannels import Axis, Subchannels
from brokerwise.storage.network import (
    HEADER,
    network_digest,
    read_network,
    read_network_header,
    write_network,
)
from brokerwise.storage.place import Place


def contents(network: Network) -> list[Any]:
    arrays: list[Any] = [
        network.capacity,
        network.access,
        network.core,
        network.published.offsets,
        network.published.subchannels,
        network.published.rates,
        network.wanted.offsets,
        network.wanted.subchannels,
        network.user_points,
        network.broker_points,
    ]
    names = [list(network.user_names), list(network.broker_names)]
    plain = [None if array is None else array.tolist() for array in arrays]
    return [*plain, *names, network.subchannels, network.period_seconds]


@pytest.fixture
def small() -> Network:
    """Two brokers at distance 5, three users at points."""
    return network_of(
        publishes=[{0: 5, 2: 2**40}, {}, {1: 1}],
        wants=[[], [0, 1, 2], [2]],
        users=[[0, 0], [3, 4], [6, 8]],
        brokers=[[0, 0], [3, 4]],
        capacity=[10, 2**60],
    )


@pytest.fixture
def priced(small: Network) -> Network:
    """The same with costs that no points explain, and a user who knows one broker."""
    access = small.access.copy()
    access[0, 1] = OUT_OF_REACH
    core = np.array([[0, 7], [7, 0]])
    return replace(small, access=access, core=core)


@pytest.fixture
def written(small: Network, tmp_path: Path) -> Path:
    write_network(small, Place(str(tmp_path / "network")))
    return tmp_path / "network"


@pytest.fixture
def priced_written(priced: Network, tmp_path: Path) -> Path:
    write_network(priced, Place(str(tmp_path / "network")))
    return tmp_path / "network"


@settings(max_examples=examples(50))
@given(networks(), st.booleans(), st.booleans(), st.integers(1, 3))
def test_what_was_written_is_read(
    network: Network, points: bool, metric: bool, block: int
) -> None:
    if not points:
        network = replace(network, user_points=None, broker_points=None)
    if not metric:
        network = replace(network, access=network.access + 1)
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as directory:
        patch.setattr("brokerwise.storage.network.BLOCK", block)
        place = Place(f"{directory}/network")
        header = write_network(network, place, made_from={"seed": 3})
        found = read_network(place)
        assert read_network_header(place) == header
        assert network_digest(found) == header.digest == network_digest(network)
    assert contents(found) == contents(network)
    explained = metric or network.users == 0
    assert header.access == ("points" if points and explained else "table")
    assert header.core == ("points" if points else "table")
    assert set(header.tables) == {"brokers", "users", "rates", "interests"} | {
        name for name in ("access", "core") if getattr(header, name) == "table"
    }


def test_the_header_counts_and_says_where_it_comes_from(
    small: Network, tmp_path: Path
) -> None:
    place = Place(str(tmp_path / "network"))
    figures = {"false_positive_share": 0.25, "messages": 2**60}
    write_network(small, place, made_from={"seed": 3}, figures=figures)
    header = json.loads((tmp_path / "network" / HEADER).read_text())
    assert {key: header[key] for key in header if key not in ("digests", "digest")} == {
        "users": 3,
        "brokers": 2,
        "subchannels": 3,
        "rates": 3,
        "interests": 4,
        "period_seconds": 60,
        "axes": [{"attribute": "price", "edges": [0.0, 1.0, 2.0, 5.0]}],
        "coordinates": ["x", "y"],
        "access": "points",
        "core": "points",
        "tables": {
            name: f"{name}.parquet"
            for name in ("brokers", "users", "rates", "interests")
        },
        "figures": figures,
        "made_from": {"seed": 3},
        "format": 1,
    }
    assert read_network_header(place).figures == figures


def test_the_tables_are_those_that_others_expect(priced_written: Path) -> None:
    def table(name: str) -> pa.Table:
        return pq.read_table(priced_written / f"{name}.parquet")

    assert table("brokers").to_pylist() == [
        dict(broker=0, name="b0", capacity=10, x=0.0, y=0.0),
        dict(broker=1, name="b1", capacity=2**60, x=3.0, y=4.0),
    ]
    assert table("users").to_pylist()[1] == dict(user=1, name="u1", x=3.0, y=4.0)
    assert table("rates").to_pylist() == [
        dict(user=0, subchannel=0, rate=5),
        dict(user=0, subchannel=2, rate=2**40),
        dict(user=2, subchannel=1, rate=1),
    ]
    assert table("interests").to_pylist() == [
        dict(user=0, subchannels=[]),
        dict(user=1, subchannels=[0, 1, 2]),
        dict(user=2, subchannels=[2]),
    ]
    assert table("access").to_pylist() == [
        dict(user=0, costs=[0, -1]),
        dict(user=1, costs=[5000, 0]),
        dict(user=2, costs=[10_000, 5000]),
    ]
    assert table("core").to_pylist() == [
        dict(broker=0, costs=[0, 7]),
        dict(broker=1, costs=[7, 0]),
    ]
    kinds = {
        name: [str(kind) for kind in table(name).schema.types]
        for name in ("brokers", "users", "rates", "interests", "access", "core")
    }
    assert kinds == {
        "brokers": ["int32", "string", "int64", "double", "double"],
        "users": ["int32", "string", "double", "double"],
        "rates": ["int32", "int32", "int64"],
        "interests": ["int32", "list<element: int32 not null>"],
        "access": ["int32", "list<element: int64 not null>"],
        "core": ["int32", "list<element: int64 not null>"],
    }


@pytest.mark.parametrize(
    ("dimensions", "names"),
    [(1, ["x"]), (3, ["x", "y", "z"]), (4, ["x1", "x2", "x3", "x4"])],
)
def test_points_of_any_dimension_are_kept(
    dimensions: int, names: list[str], tmp_path: Path
) -> None:
    network = network_of(
        publishes=[{0: 1}],
        wants=[[1]],
        users=np.arange(dimensions)[None] / 3,
        brokers=np.ones((2, dimensions)) * [[0], [0.1]],
        capacity=[1, 1],
    )
    place = Place(str(tmp_path / "network"))
    assert list(write_network(network, place).coordinates) == names
    assert contents(read_network(place)) == contents(network)


def test_a_network_in_several_attributes_is_kept(tmp_path: Path) -> None:
    axes = (Axis("price", (0, 0.1, 0.30000000000000004)), Axis("größe", (-1, 1e300)))
    network = network_of(
        publishes=[{}],
        wants=[[1]],
        users=[[0]],
        brokers=[[1]],
        capacity=[0],
        axes=axes,
    )
    place = Place(str(tmp_path / "network"))
    write_network(network, place)
    assert read_network(place).subchannels == Subchannels(axes)


CHANGES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "the period": lambda n: {"period_seconds": 61},
    "a capacity": lambda n: {"capacity": n.capacity + 1},
    "a broker's name": lambda n: {"broker_names": Names.of(["b0", "b2"])},
    "a user's name": lambda n: {"user_names": Names.of(["u0", "u1", "u3"])},
    "names cut elsewhere": lambda n: {"user_names": Names.of(["u", "0u1", "u2"])},
    "an access cost": lambda n: {"access": n.access + 1},
    "a core cost": lambda n: {"core": n.core * 2},
    "who knows a broker": lambda n: {
        "access": np.where(n.access == 10_000, OUT_OF_REACH, n.access)
    },
    "a point of users": lambda n: {"user_points": n.user_points + 0.5},
    "a point of brokers": lambda n: {"broker_points": n.broker_points - 0.5},
    "no points": lambda n: {"user_points": None, "broker_points": None},
    "a rate": lambda n: {
        "published": Published(
            n.published.offsets, n.published.subchannels, n.published.rates + 1
        )
    },
    "where a rate is": lambda n: {
        "published": Published(
            n.published.offsets, np.array([0, 1, 1]), n.published.rates
        )
    },
    "who publishes": lambda n: {
        "published": Published(
            np.array([0, 2, 3, 3]), n.published.subchannels, n.published.rates
        )
    },
    "a wish": lambda n: {"wanted": Wanted(n.wanted.offsets, np.array([0, 1, 2, 1]))},
    "an edge": lambda n: {"subchannels": Subchannels((Axis("price", (0, 1, 2, 6)),))},
    "an attribute": lambda n: {
        "subchannels": Subchannels((Axis("cost", (0, 1, 2, 5)),))
    },
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_changes_with(change: str, small: Network) -> None:
    other = replace(small, **CHANGES[change](small))
    assert network_digest(small) != network_digest(other)
    assert network_digest(small) == network_digest(replace(small))


def test_the_digest_does_not_depend_on_how_costs_are_written(
    small: Network, tmp_path: Path
) -> None:
    """Nor on what was measured, or what it was made from."""
    places = [Place(str(tmp_path / name)) for name in ("one", "other")]
    one = write_network(small, places[0], figures={"a": 1}, made_from={"b": 2})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("brokerwise.storage.network._access_source", lambda _: "table")
        patch.setattr("brokerwise.storage.network._core_source", lambda _: "table")
        other = write_network(small, places[1])
    assert one.digest == other.digest
    assert (one.access, other.access) == ("points", "table")
    assert contents(read_network(places[0])) == contents(read_network(places[1]))


def column(name: str, values: list[Any]) -> Callable[[pa.Table], pa.Table]:
    def edit(table: pa.Table) -> pa.Table:
        at = table.column_names.index(name)
        field = table.schema.field(name)
        return table.set_column(at, field, pa.array(values, field.type))

    return edit


@pytest.mark.parametrize(
    ("table", "edit", "text"),
    [
        ("brokers", lambda t: t.drop_columns("capacity"), "has no column 'capacity'"),
        (
            "brokers",
            lambda t: t.append_column("z", pa.array([1.0, 2.0])),
            ": found a column 'z' too many",
        ),
        (
            "brokers",
            lambda t: t.set_column(2, "capacity", pa.array([1.5, 2.5])),
            ": column 'capacity' is double, expected int64",
        ),
        (
            "users",
            column("name", ["a", None, "c"]),
            ": column 'name' has missing values (1)",
        ),
        (
            "users",
            column("user", [0, 2, 1]),
            ": expected a row for each number from 0 to 2, in order",
        ),
        (
            "users",
            column("x", [0.0, None, 1.0]),
            ": column 'x' has missing values (1)",
        ),
        (
            "rates",
            column("user", [0, 2, 1]),
            ": column 'user' must ascend, from 0 to below 3",
        ),
        (
            "rates",
            column("user", [0, 0, 3]),
            ": column 'user' must ascend, from 0 to below 3",
        ),
        (
            "rates",
            column("user", [-1, 0, 2]),
            ": column 'user' must ascend, from 0 to below 3",
        ),
        (
            "interests",
            lambda t: t.slice(0, 2),
            ": expected a row for each number from 0 to 2, in order",
        ),
        (
            "access",
            column("costs", [[0, -1], [1], [2, 3]]),
            ": column 'costs' has a list of 1, expected a cost to each of 2 brokers",
        ),
        (
            "core",
            lambda t: t.slice(1, 1),
            ": expected a row for each number from 0 to 1, in order",
        ),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_by_name(
    table: str,
    edit: Callable[[pa.Table], pa.Table],
    text: str,
    priced_written: Path,
) -> None:
    file = priced_written / f"{table}.parquet"
    pq.write_table(edit(pq.read_table(file)), file)
    with pytest.raises(InputError) as refused:
        read_network(Place(str(priced_written)))
    assert refused.value.message.replace(" has no", ": has no").startswith(f"{file}:")
    assert refused.value.message.endswith(text)


@pytest.mark.parametrize(
    ("table", "edit", "text"),
    [
        (
            "brokers",
            column("capacity", [10, -1]),
            "capacity of broker 'b1': found -1, expected >= 0",
        ),
        (
            "rates",
            column("subchannel", [0, 3, 1]),
            "rates: found sub-channel 3, expected below 3",
        ),
        (
            "core",
            column("costs", [[0, 7], [8, 0]]),
            "core costs: 'b0' to 'b1' costs 0.007, back 0.008, "
            "expected the same both ways",
        ),
        (
            "access",
            column("costs", [[-1, -1], [1, 1], [2, 3]]),
            "user 'u0' has no broker in reach",
        ),
    ],
)
def test_values_that_cannot_be_used_are_refused_with_the_directory(
    table: str,
    edit: Callable[[pa.Table], pa.Table],
    text: str,
    priced_written: Path,
) -> None:
    file = priced_written / f"{table}.parquet"
    pq.write_table(edit(pq.read_table(file)), file)
    with pytest.raises(InputError) as refused:
        read_network(Place(str(priced_written)))
    assert refused.value.message == f"{priced_written}: {text}"


@pytest.mark.parametrize(
    ("table", "edit"),
    [
        ("brokers", column("capacity", [10, 11])),
        ("brokers", column("x", [0.0, 3.5])),
        ("users", column("name", ["u0", "u1", "u9"])),
        ("rates", column("rate", [5, 6, 1])),
        ("interests", column("subchannels", [[], [0, 1, 2], [1]])),
        ("access", column("costs", [[0, -1], [5000, 0], [10_000, 5001]])),
        ("core", column("costs", [[0, 8], [8, 0]])),
    ],
)
def test_a_table_that_changed_is_refused_by_its_digest(
    table: str, edit: Callable[[pa.Table], pa.Table], priced_written: Path
) -> None:
    file = priced_written / f"{table}.parquet"
    pq.write_table(edit(pq.read_table(file)), file)
    with pytest.raises(DigestMismatchError, match=f"^{file} has digest "):
        read_network(Place(str(priced_written)))


def test_a_point_that_changed_is_refused_where_costs_follow_from_points(
    written: Path,
) -> None:
    file = written / "brokers.parquet"
    pq.write_table(column("x", [0.0, 3.5])(pq.read_table(file)), file)
    with pytest.raises(DigestMismatchError, match=f"^{file} has digest "):
        read_network(Place(str(written)))


def edited(path: Path, edit: Callable[[Any], object]) -> Place:
    header = json.loads((path / HEADER).read_text())
    edit(header)
    (path / HEADER).write_text(json.dumps(header))
    return Place(str(path))


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (lambda h: h.update(format=2), ": found format 2, expected 1"),
        (lambda h: h.update(access="maps"), ": Invalid enum value 'maps'"),
        (lambda h: h["tables"].pop("users"), " has no 'users'"),
        (lambda h: h["digests"].pop("access"), " has no 'access'"),
        (lambda h: h.update(access="table"), ": tables has no 'access'"),
        (
            lambda h: h.update(coordinates=[]),
            ": access is by points, but there are no coordinates",
        ),
        (
            lambda h: h["axes"][0].update(edges=[1, 1]),
            ": edges of attribute 'price': found 1, 1",
        ),
        (
            lambda h: h["tables"].update(users="../users.parquet"),
            " names a file outside its directory: '../users.parquet'",
        ),
    ],
)
def test_a_header_that_cannot_be_used_is_refused(
    edit: Callable[[Any], object], text: str, written: Path
) -> None:
    with pytest.raises(InputError) as refused:
        read_network(edited(written, edit))
    assert refused.value.message.startswith(f"{written / HEADER}{text}")


@pytest.mark.parametrize("what", ["users", "brokers", "rates", "interests"])
def test_counts_must_be_those_of_the_files(what: str, written: Path) -> None:
    place = edited(written, lambda h: h.update({what: 99}))
    with pytest.raises(InputError, match=f"files hold . {what}, {HEADER} says 99"):
        read_network(place)


def test_what_the_digest_covers_in_the_header_cannot_change(written: Path) -> None:
    place = edited(written, lambda h: h.update(period_seconds=61))
    with pytest.raises(DigestMismatchError, match=f"^{written / HEADER} has digest "):
        read_network(place)


def test_a_directory_without_a_header_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a network directory") as refused:
        read_network(Place(str(tmp_path)))
    assert "brokerwise generate network" in refused.value.hint


def test_a_table_that_is_missing_is_named(written: Path) -> None:
    (written / "rates.parquet").unlink()
    with pytest.raises(InputError, match=f"^{written}/rates.parquet is missing: "):
        read_network(Place(str(written)))


def test_a_network_is_replaced_only_if_told_to(small: Network, written: Path) -> None:
    place = Place(str(written))
    other = replace(small, period_seconds=7)
    with pytest.raises(InputError, match="exists already; nothing was written"):
        write_network(other, place)
    assert read_network(place).period_seconds == 60
    write_network(other, place, force=True)
    assert read_network(place).period_seconds == 7


def test_a_network_that_fails_halfway_leaves_nothing(
    small: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("brokerwise.storage.network.write_costs", fail)
    dearer = replace(small, access=small.access + int(cost_units(1.0)))
    with pytest.raises(OSError, match="no space left"):
        write_network(dearer, Place(str(tmp_path / "network")))
    assert list(tmp_path.iterdir()) == []
