"""Plan directories of kind overlay: what is written is read, or it is refused."""

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
from tests.auditing.overlay_cases import network_of, plan_of, plans
from tests.tiers import examples

from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status
from brokerwise.model.subchannels import Axis
from brokerwise.storage.network import network_digest
from brokerwise.storage.overlay_plan import (
    OverlayHeader,
    overlay_tables,
    read_overlay_header,
    read_overlay_plan,
    write_overlay_plan,
)
from brokerwise.storage.place import Place
from brokerwise.storage.plan import (
    HEADER,
    plan_kind,
    read_plan,
    read_plan_header,
    write_plan,
)

NETWORK = Place("/data/network")


def contents(plan: OverlayPlan) -> list[Any]:
    trees = plan.trees
    arrays: list[Any] = [plan.broker, plan.load, trees.source, trees.subchannel]
    return [
        *(array.tolist() for array in [*arrays, trees.parent, trees.child]),
        *(plan.kind, plan.algorithm, plan.status, plan.tree, plan.seed, plan.reason),
        *(plan.objective, plan.bound, plan.gap),
        *(dict(plan.figures), dict(plan.options), dict(plan.seconds)),
    ]


@pytest.fixture
def network() -> Network:
    """Three brokers in a row, a user on each; everybody wants what the first sends."""
    return network_of(
        publishes=[{1: 4}, {}, {}],
        wants=[[1], [1], [1]],
        users=[[0], [1], [2]],
        brokers=[[0], [1], [2]],
        capacity=[10, 20, 30],
        axes=(Axis("price", (0, 1, 2)), Axis("size", (5, 7.5))),
    )


@pytest.fixture
def small(network: Network) -> OverlayPlan:
    return replace(plan_of(network, [0, 1, 2]), seconds={"solve": 0.25})


@pytest.fixture
def written(network: Network, small: OverlayPlan, tmp_path: Path) -> Path:
    write(small, network, tmp_path / "plan")
    return tmp_path / "plan"


def write(
    plan: OverlayPlan, network: Network, path: Path, **options: Any
) -> OverlayHeader:
    return write_overlay_plan(
        plan, network, Place(str(path)), network_place=NETWORK, **options
    )


@settings(max_examples=examples(50))
@given(plans())
def test_what_was_written_is_read(made: tuple[Network, OverlayPlan]) -> None:
    network, plan = made
    with TemporaryDirectory() as directory:
        header = write(plan, network, Path(directory, "plan"))
        place = Place(f"{directory}/plan")
        assert read_overlay_header(place) == header
        assert contents(read_overlay_plan(place)) == contents(plan)
    assert header.network == {
        "path": NETWORK.uri,
        "digest": network_digest(network),
    }


def test_the_tables_are_those_that_others_expect(written: Path) -> None:
    def table(name: str) -> pa.Table:
        return pq.read_table(written / f"{name}.parquet")

    assert table("users").to_pylist() == [dict(user=n, broker=n) for n in range(3)]
    assert table("brokers").to_pylist() == [
        dict(broker=0, name="b0", capacity=10, load=4, users=1),
        dict(broker=1, name="b1", capacity=20, load=4, users=1),
        dict(broker=2, name="b2", capacity=30, load=4, users=1),
    ]
    assert table("trees").to_pylist() == [
        {"source": 0, "subchannel": 1, "from": 0, "to": 1},
        {"source": 0, "subchannel": 1, "from": 1, "to": 2},
    ]
    assert table("subchannels").to_pylist() == [
        dict(subchannel=0, price_low=0, price_high=1, size_low=5, size_high=7.5),
        dict(subchannel=1, price_low=1, price_high=2, size_low=5, size_high=7.5),
    ]
    kinds = {
        name: [str(kind) for kind in table(name).schema.types]
        for name in ("users", "brokers", "trees", "subchannels")
    }
    assert kinds == {
        "users": ["int32"] * 2,
        "brokers": ["int32", "string", "int64", "int64", "int64"],
        "trees": ["int32"] * 4,
        "subchannels": ["int32", *["double"] * 4],
    }


def test_bounds_of_sub_channels_run_along_the_last_attribute_first(
    tmp_path: Path,
) -> None:
    network = network_of(
        publishes=[{}],
        wants=[[]],
        users=[[0]],
        brokers=[[0]],
        capacity=[1],
        axes=(Axis("a", (0, 1, 2)), Axis("b", (0, 3, 9))),
    )
    write(plan_of(network, [0]), network, tmp_path / "plan")
    table = pq.read_table(tmp_path / "plan" / "subchannels.parquet")
    corners = [(row["a_low"], row["b_low"]) for row in table.to_pylist()]
    assert corners == [(0, 0), (0, 3), (1, 0), (1, 3)]
    points = np.array(corners, float)
    assert network.subchannels.of_points(points).tolist() == [0, 1, 2, 3]


CHANGES: dict[str, dict[str, Any]] = {
    "the tree": {"tree": True},
    "where a user is": {"broker": np.array([0, 1, 1], np.int32)},
    "a load": {"load": np.array([4, 4, 5])},
    "a link": {"trees": Trees(*np.array([[0, 1, 0, 1], [0, 1, 0, 2]], np.int32).T)},
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_changes_with(
    change: str, network: Network, small: OverlayPlan, tmp_path: Path
) -> None:
    one = write(small, network, tmp_path / "one")
    same = replace(small, seconds={"x": 1.0}, figures={}, seed=9)
    other = replace(small, **CHANGES[change])
    assert one.digest == write(same, network, tmp_path / "same").digest
    assert one.digest != write(other, network, tmp_path / "other").digest


def test_the_digest_changes_with_the_network(
    network: Network, small: OverlayPlan, tmp_path: Path
) -> None:
    one = write(small, network, tmp_path / "one")
    other = write(small, replace(network, period_seconds=9), tmp_path / "other")
    assert one.digests == other.digests
    assert one.digest != other.digest


def test_what_is_infinite_is_null_in_json(
    network: Network, small: OverlayPlan, tmp_path: Path
) -> None:
    figures = {"crr": float("inf"), "moves": np.int64(3)}
    plan = replace(small, objective=0, bound=5, figures=figures)
    write(plan, network, tmp_path / "plan")
    header = json.loads((tmp_path / "plan" / HEADER).read_text())
    assert header["gap"] is None
    assert header["figures"] == {"crr": None, "moves": 3}
    found = read_overlay_plan(Place(str(tmp_path / "plan")))
    assert found.gap == float("inf")


def test_a_plan_that_found_nothing_keeps_its_reason(
    network: Network, tmp_path: Path
) -> None:
    none = OverlayPlan(
        algorithm="greedy",
        status=Status.INFEASIBLE,
        objective=None,
        bound=None,
        broker=np.zeros(0, np.int32),
        load=np.zeros(0, np.int64),
        trees=Trees(*(np.zeros(0, np.int32) for _ in range(4))),
        reason="capacity of all brokers is 3, users need 4",
    )
    write(none, network, tmp_path / "plan")
    found = read_overlay_plan(Place(str(tmp_path / "plan")))
    assert contents(replace(found, load=none.load)) == contents(none)
    assert found.load.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"broker": np.array([0, 1], np.int32)}, "found 2 users, expected 3"),
        (
            {"broker": np.array([0, 1, 3], np.int32)},
            "found broker 3, expected from 0 to 2",
        ),
        (
            {"broker": np.array([0, -1, 1], np.int32)},
            "found broker -1, expected from 0 to 2",
        ),
        ({"load": np.array([1, 2])}, "found loads of 2 brokers, expected 3"),
    ],
)
def test_a_plan_for_another_network_is_not_written(
    change: dict[str, Any],
    text: str,
    network: Network,
    small: OverlayPlan,
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError) as refused:
        write(replace(small, **change), network, tmp_path / "plan")
    assert refused.value.message == f"overlay plan: {text}"
    assert list(tmp_path.iterdir()) == []


def test_the_path_of_the_network_is_absolute_and_without_secrets(
    network: Network,
    small: OverlayPlan,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = []
    for number, uri in enumerate(["n", "s3://key:secret@b/n?region=eu-west-1"]):
        header = write_overlay_plan(
            small, network, Place(f"p{number}"), network_place=Place(uri)
        )
        paths.append(header.network["path"])
    assert paths == [str(tmp_path / "n"), "s3://b/n?region=eu-west-1"]


def column(name: str, values: list[Any]) -> Callable[[pa.Table], pa.Table]:
    def edit(table: pa.Table) -> pa.Table:
        at = table.column_names.index(name)
        field = table.schema.field(name)
        return table.set_column(at, field, pa.array(values, field.type))

    return edit


@pytest.mark.parametrize(
    ("table", "edit"),
    [
        ("users", column("broker", [0, 0, 2])),
        ("users", column("user", [0, 2, 1])),
        ("brokers", column("load", [4, 4, 5])),
        ("brokers", column("name", ["b0", "b1", "b9"])),
        ("trees", column("to", [2, 1])),
        ("subchannels", column("price_low", [0.0, 1.5])),
    ],
)
def test_a_table_that_changed_is_refused_by_its_digest(
    table: str, edit: Callable[[pa.Table], pa.Table], written: Path
) -> None:
    file = written / f"{table}.parquet"
    pq.write_table(edit(pq.read_table(file)), file)
    with pytest.raises(DigestMismatchError, match=f"^{file} has digest "):
        read_overlay_plan(Place(str(written)))


@pytest.mark.parametrize(
    ("table", "edit", "text"),
    [
        ("users", lambda t: t.drop_columns("broker"), " has no column 'broker'"),
        (
            "trees",
            lambda t: t.append_column("x", pa.array([1, 2])),
            ": found a column 'x' too many",
        ),
        (
            "brokers",
            lambda t: t.set_column(3, "load", pa.array([1.0, 2.0, 3.0])),
            ": column 'load' is double, expected int64",
        ),
        (
            "subchannels",
            column("size_high", [None, 1.0]),
            ": column 'size_high' has missing values (1)",
        ),
    ],
)
def test_columns_that_cannot_be_used_are_refused_by_name(
    table: str, edit: Callable[[pa.Table], pa.Table], text: str, written: Path
) -> None:
    file = written / f"{table}.parquet"
    pq.write_table(edit(pq.read_table(file)), file)
    with pytest.raises(InputError) as refused:
        read_overlay_plan(Place(str(written)))
    assert refused.value.message == f"{file}{text}"


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (lambda h: h.update(format=9), ": found format 9, expected 1"),
        (lambda h: h.update(tree="yes"), ": Expected `bool`, got `str` - at `$.tree`"),
        (lambda h: h.update(objective=1.5), ": Expected `int | null`, got `float`"),
        (lambda h: h["network"].pop("digest"), " has no 'digest'"),
        (lambda h: h["tables"].pop("trees"), " has no 'trees'"),
        (lambda h: h["digests"].pop("users"), " has no 'users'"),
        (
            lambda h: h["tables"].update(users="/etc/x"),
            " names a file outside its directory: '/etc/x'",
        ),
        (
            lambda h: h.update(status="perfect"),
            ": found status 'perfect', expected optimal, feasible, infeasible, unknown",
        ),
        (lambda h: h.update(kind=3), ": found kind 3, expected a name"),
    ],
)
def test_a_header_that_cannot_be_used_is_refused(
    edit: Callable[[Any], object], text: str, written: Path
) -> None:
    file = written / HEADER
    header = json.loads(file.read_text())
    edit(header)
    file.write_text(json.dumps(header))
    with pytest.raises(InputError) as refused:
        read_overlay_plan(Place(str(written)))
    assert refused.value.message.startswith(f"{file}{text}")


def test_what_the_digest_covers_in_plan_json_cannot_change(written: Path) -> None:
    file = written / HEADER
    file.write_text(json.dumps(json.loads(file.read_text()) | {"tree": True}))
    with pytest.raises(DigestMismatchError, match=f"^{file} has digest "):
        read_overlay_plan(Place(str(written)))


def test_ids_that_do_not_count_are_refused_though_digests_fit(
    network: Network,
    small: OverlayPlan,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def disordered(plan: OverlayPlan, network: Network) -> dict[str, pa.Table]:
        tables = overlay_tables(plan, network)
        return tables | {"users": column("user", [0, 2, 1])(tables["users"])}

    monkeypatch.setattr("brokerwise.storage.overlay_plan.overlay_tables", disordered)
    write(small, network, tmp_path / "plan")
    file = tmp_path / "plan" / "users.parquet"
    with pytest.raises(InputError, match=f"^{file}: expected a row for each number"):
        read_overlay_plan(Place(str(tmp_path / "plan")))


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A plan of another kind."""
    plan = Plan(
        kind="fill",
        algorithm="greedy",
        status=Status.OPTIMAL,
        objective=0,
        bound=0,
        fleet=Fleet.types(BrokerType("small", 50, 1)),
        brokers=Brokers(np.zeros(1, np.int32), np.array([50]), np.array([0])),
        selection=Interests(np.zeros(1, np.int64), np.zeros(0, np.int32)),
        placement=Placement(
            np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64)
        ),
    )
    write_plan(
        plan,
        Place(str(tmp_path / "filled")),
        workload=Place("/data/w"),
        workload_digest="d" * 64,
    )
    return tmp_path / "filled"


def test_plans_of_each_kind_are_told_apart(written: Path, filled: Path) -> None:
    assert plan_kind(Place(str(written))) == "overlay"
    assert plan_kind(Place(str(filled))) == "fill"


@pytest.mark.parametrize("read", [read_plan, read_plan_header])
def test_an_overlay_is_refused_where_another_kind_is_expected(
    read: Callable[[Place], object], written: Path
) -> None:
    with pytest.raises(InputError) as refused:
        read(Place(str(written)))
    assert refused.value.message == (
        f"{written} is a plan of kind 'overlay', expected provision or fill"
    )


@pytest.mark.parametrize("read", [read_overlay_plan, read_overlay_header])
def test_another_kind_is_refused_where_an_overlay_is_expected(
    read: Callable[[Place], object], filled: Path
) -> None:
    with pytest.raises(InputError) as refused:
        read(Place(str(filled)))
    assert refused.value.message == (
        f"{filled} is a plan of kind 'fill', expected overlay"
    )


def test_a_directory_that_is_no_plan_has_no_kind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a plan directory: it has no plan"):
        plan_kind(Place(str(tmp_path)))
