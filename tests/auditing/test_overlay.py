"""Overlay plans that are right pass; whatever is changed in them is found and named."""

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
from tests.auditing.overlay_cases import Literal, network_of, plan_of, plans, spanning
from tests.tiers import examples

from brokerwise.auditing import trees
from brokerwise.auditing.findings import CHECKS, OverlayAudit
from brokerwise.auditing.overlay import (
    audit_overlay_directory,
    audit_staged_overlay,
    overlay_violations,
)
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.network import OUT_OF_REACH, Network
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.plan import Status
from brokerwise.storage.network import network_digest, write_network
from brokerwise.storage.output import Output
from brokerwise.storage.overlay_plan import (
    OverlayHeader,
    read_overlay_header,
    read_overlay_tables,
    stage_overlay_plan,
    write_overlay_plan,
)
from brokerwise.storage.place import Place
from brokerwise.storage.plan import HEADER

LINE = [(0, 1), (1, 2), (2, 3)]
"""A spanning tree of the four brokers in a row."""


@pytest.fixture
def line() -> Network:
    """Four brokers at 0, 1, 2 and 4 on a line, two users on each of the first three.

    Sub-channel 0 is wanted everywhere but on b3, 1 on b2 only, 2 by nobody. The last
    user does not know b0.
    """
    users = [[0.0], [0.5], [1.0], [1.5], [2.0], [2.5]]
    brokers = [[0.0], [1.0], [2.0], [4.0]]
    network = network_of(
        publishes=[{0: 5, 2: 9}, {1: 3}, {0: 2}, {}, {1: 4}, {0: 1}],
        wants=[[], [0], [0], [], [0, 1], [1]],
        users=users,
        brokers=brokers,
        capacity=[40, 30, 30, 10],
    )
    access = network.access.copy()
    access[5, 0] = OUT_OF_REACH
    return replace(network, access=access)


@pytest.fixture
def good(line: Network) -> OverlayPlan:
    return plan_of(line, [0, 0, 1, 1, 2, 2])


@pytest.fixture
def joined(line: Network) -> OverlayPlan:
    """The same with all brokers joined in a row."""
    return plan_of(line, [0, 0, 1, 1, 2, 2], LINE)


class Directory:
    """A network and a plan on disk, to be edited by hand."""

    def __init__(self, path: Path, network: Network, plan: OverlayPlan) -> None:
        self.plan, self.network = path / "plan", path / "network"
        write_network(network, Place(str(self.network)))
        write_overlay_plan(
            plan,
            network,
            Place(str(self.plan)),
            network_place=Place(str(self.network)),
        )

    def audit(self) -> OverlayAudit:
        return audit_overlay_directory(Place(str(self.plan)))

    def edit_header(self, edit: Callable[[Any], object]) -> None:
        file = self.plan / HEADER
        header = json.loads(file.read_text())
        edit(header)
        file.write_text(json.dumps(header))

    def edit_rows(self, table: str, edit: Callable[[list[Any]], object]) -> None:
        file = self.plan / f"{table}.parquet"
        found = pq.read_table(file)
        rows = found.to_pylist()
        edit(rows)
        pq.write_table(pa.Table.from_pylist(rows, found.schema), file)

    def mend_digests(self) -> None:
        """As someone would who wants the edits to go unnoticed."""
        place = Place(str(self.plan))
        header = read_overlay_header(place)
        digests = read_overlay_tables(place, header).digests()
        mended = replace(header, digests=digests, digest="")
        (self.plan / HEADER).write_text(json.dumps(mended.as_json()))


@pytest.fixture
def directory(tmp_path: Path, line: Network, good: OverlayPlan) -> Directory:
    return Directory(tmp_path, line, good)


@pytest.fixture
def joined_directory(tmp_path: Path, line: Network, joined: OverlayPlan) -> Directory:
    return Directory(tmp_path, line, joined)


@settings(max_examples=examples(200))
@given(plans())
def test_a_plan_that_is_right_has_no_violation(
    made: tuple[Network, OverlayPlan],
) -> None:
    network, plan = made
    assert overlay_violations(plan, network) == []


@settings(max_examples=examples(25))
@given(plans())
def test_a_directory_that_is_right_has_no_violation(
    made: tuple[Network, OverlayPlan],
) -> None:
    network, plan = made
    with TemporaryDirectory() as path:
        audit = Directory(Path(path), network, plan).audit()
    assert audit.violations == ()
    truth = Literal(network, plan.broker.tolist())
    assert audit == OverlayAudit(
        digest=audit.digest,
        violations=(),
        users=network.users,
        brokers=len(set(plan.broker.tolist())),
        subchannels=len(network.subchannels),
        links=len(plan.trees),
        load=sum(truth.loads()),
        access=truth.access(),
        core=plan.figures["core"],
    )
    assert audit.ok
    assert audit.total == 0


@settings(max_examples=examples(150))
@given(plans(), st.data())
def test_a_user_on_another_broker_is_noticed_wherever_it_matters(
    made: tuple[Network, OverlayPlan], data: st.DataObject
) -> None:
    network, plan = made
    if network.users == 0 or network.brokers < 2:
        return
    user = data.draw(st.integers(0, network.users - 1))
    homes = plan.broker.tolist()
    homes[user] = (homes[user] + data.draw(st.integers(1, network.brokers - 1))) % (
        network.brokers
    )
    moved = replace(plan, broker=np.array(homes, np.int32))
    before, after = Literal(network, plan.broker.tolist()), Literal(network, homes)
    noticed = overlay_violations(moved, network) != []
    if before.loads() != after.loads() or before.access() != after.access():
        assert noticed
    if before.sources() != after.sources():
        assert noticed


@settings(max_examples=examples(150))
@given(plans(), st.data())
def test_a_tree_with_another_link_is_wrong_unless_it_weighs_the_same(
    made: tuple[Network, OverlayPlan], data: st.DataObject
) -> None:
    network, plan = made
    if plan.tree or len(plan.trees) == 0:
        return
    row = data.draw(st.integers(0, len(plan.trees) - 1))
    parent = plan.trees.parent.copy()
    parent[row] = data.draw(st.integers(0, network.brokers - 1))
    changed = Trees(plan.trees.source, plan.trees.subchannel, parent, plan.trees.child)
    found = overlay_violations(replace(plan, trees=changed), network)
    child = plan.trees.child[row]
    before, after = plan.trees.parent[row], parent[row]
    if network.core[before, child] != network.core[after, child]:
        assert {v.check for v in found} & {"links", "weight"}


def header(**changes: Any) -> Callable[[Directory], None]:
    return lambda directory: directory.edit_header(lambda h: h.update(changes))


def figure(**changes: Any) -> Callable[[Directory], None]:
    return lambda directory: directory.edit_header(
        lambda h: h["figures"].update(changes)
    )


def without_figure(name: str) -> Callable[[Directory], None]:
    return lambda directory: directory.edit_header(lambda h: h["figures"].pop(name))


def cell(table: str, row: int, **changes: Any) -> Callable[[Directory], None]:
    return lambda directory: directory.edit_rows(
        table, lambda rows: rows[row].update(changes)
    )


def rows(
    table: str, edit: Callable[[list[Any]], object]
) -> Callable[[Directory], None]:
    return lambda directory: directory.edit_rows(table, edit)


def swapped(one: int, other: int) -> Callable[[list[Any]], object]:
    def swap(found: list[Any]) -> None:
        found[one], found[other] = found[other], found[one]

    return swap


def link(source: int, subchannel: int, parent: int, child: int) -> dict[str, int]:
    return {"source": source, "subchannel": subchannel, "from": parent, "to": child}


EDITS: dict[str, tuple[Callable[[Directory], None], str, str]] = {
    "a user on another broker": (
        cell("users", 3, broker=0),
        "load",
        'broker "b0": users stated 2, found 3',
    ),
    "a broker that does not exist": (
        cell("users", 3, broker=9),
        "broker",
        'user "u3" is on broker 9, which does not exist',
    ),
    "a broker below zero": (
        cell("users", 3, broker=-1),
        "broker",
        'user "u3" is on broker -1, which does not exist',
    ),
    "a broker out of reach": (
        cell("users", 5, broker=0),
        "reach",
        'user "u5" is on broker "b0", which is out of its reach',
    ),
    "a user left out": (
        rows("users", lambda found: found.pop(2)),
        "users",
        'user "u2" has no row',
    ),
    "a user twice": (
        rows("users", lambda found: found.insert(2, dict(found[1]))),
        "users",
        'user "u1" has 2 rows',
    ),
    "a user too many": (
        rows("users", lambda found: found.append({"user": 6, "broker": 0})),
        "users",
        "user number 6 does not exist",
    ),
    "users out of order": (
        rows("users", swapped(1, 2)),
        "users",
        'user "u1" comes out of order',
    ),
    "more than a broker can carry": (
        rows("users", lambda found: [row.update(broker=3) for row in found[:5]]),
        "capacity",
        'broker "b3" carries 39, its capacity is 10',
    ),
    "a load": (
        cell("brokers", 0, load=7),
        "load",
        'broker "b0": load stated 7, found 16',
    ),
    "a number of users": (
        cell("brokers", 3, users=1),
        "load",
        'broker "b3": users stated 1, found 0',
    ),
    "a capacity": (
        cell("brokers", 1, capacity=31),
        "brokers",
        'broker "b1" has capacity 31, in the network 30',
    ),
    "a broker's name": (
        cell("brokers", 1, name="c"),
        "brokers",
        'broker "b1" is called "c"',
    ),
    "a broker left out": (
        rows("brokers", lambda found: found.pop()),
        "brokers",
        'broker "b3" is not listed',
    ),
    "a broker too many": (
        rows("brokers", lambda found: found.append(found[3] | {"broker": 4})),
        "brokers",
        "broker 4 is not in the network",
    ),
    "brokers out of order": (
        rows("brokers", swapped(0, 1)),
        "brokers",
        "row 0 has broker 1, expected 0",
    ),
    "a tree left out": (
        rows("trees", lambda found: found.__delitem__(slice(2, 3))),
        "trees",
        'messages of sub-channel 1 from broker "b0" have no tree',
    ),
    "a tree that nothing takes": (
        rows("trees", lambda found: found.append(link(3, 0, 3, 2))),
        "trees",
        'messages of sub-channel 0 from broker "b3" need no tree',
    ),
    "a tree that misses a broker": (
        rows("trees", lambda found: found.pop(1)),
        "trees",
        'messages of sub-channel 0 from broker "b0" do not get to broker "b2", '
        "where they are wanted",
    ),
    "a tree to a broker that wants nothing": (
        rows("trees", lambda found: found.insert(2, link(0, 0, 2, 3))),
        "trees",
        'messages of sub-channel 0 from broker "b0" get to broker "b3", '
        "where nobody wants them",
    ),
    "a tree that is too heavy": (
        cell("trees", 1, **{"from": 0}),
        "weight",
        'messages of sub-channel 0 from broker "b0": the tree costs 3, the least is 2',
    ),
    "a detour by a broker that wants nothing": (
        rows(
            "trees",
            lambda found: found.__setitem__(
                slice(2, 3), [link(0, 1, 0, 1), link(0, 1, 1, 2)]
            ),
        ),
        "trees",
        'messages of sub-channel 1 from broker "b0" get to broker "b1", '
        "where nobody wants them",
    ),
    "a link to a broker that was reached": (
        rows("trees", lambda found: found.insert(2, link(0, 0, 0, 2))),
        "links",
        "row 2 (source 0, sub-channel 0, 0 to 2) goes to a broker that has the "
        "messages already",
    ),
    "a link to the source": (
        rows("trees", lambda found: found.insert(2, link(0, 0, 2, 0))),
        "links",
        "row 2 (source 0, sub-channel 0, 2 to 0) goes to a broker that has the "
        "messages already",
    ),
    "a child before its parent": (
        rows("trees", swapped(0, 1)),
        "links",
        "row 0 (source 0, sub-channel 0, 1 to 2) comes from a broker that does not "
        "have the messages yet",
    ),
    "a link that starts nowhere": (
        cell("trees", 1, **{"from": 3}),
        "links",
        "row 1 (source 0, sub-channel 0, 3 to 2) comes from a broker that does not "
        "have the messages yet",
    ),
    "a link from a broker to itself": (
        cell("trees", 1, **{"from": 2}),
        "links",
        "row 1 (source 0, sub-channel 0, 2 to 2) comes from a broker that does not "
        "have the messages yet",
    ),
    "trees out of order": (
        rows("trees", lambda found: found.append(found.pop(2))),
        "links",
        "(source 0, sub-channel 1, 0 to 2) comes out of order",
    ),
    "a link of a broker that does not exist": (
        cell("trees", 1, to=4),
        "links",
        "row 1 (source 0, sub-channel 0, 1 to 4) has a broker or a sub-channel that "
        "does not exist",
    ),
    "a link of a sub-channel that does not exist": (
        cell("trees", 1, subchannel=3),
        "links",
        "row 1 (source 0, sub-channel 3, 1 to 2) has a broker or a sub-channel that "
        "does not exist",
    ),
    "a bound of a sub-channel": (
        cell("subchannels", 1, price_high=3.0),
        "subchannels",
        "sub-channel 1: price_high stated 3, in the network 2",
    ),
    "a sub-channel left out": (
        rows("subchannels", lambda found: found.pop()),
        "subchannels",
        "expected a row for each sub-channel from 0 to 2, in order",
    ),
    "the objective": (
        header(objective=53_000),
        "cost",
        "objective: stated 53, found 31.5: access 9.5 and core 22",
    ),
    "the access cost": (
        figure(access=1),
        "cost",
        "access: stated 0.001, found 9.5",
    ),
    "the core cost": (
        figure(core=22_001),
        "cost",
        "core: stated 22.001, found 22",
    ),
    "the cost": (figure(cost=None), "cost", "cost: stated None, found 31.5"),
    "the ratio to random": (
        figure(crr=9.5),
        "cost",
        "crr: stated 9.5, found 2.000031746",
    ),
    "the ratio to random unsaid": (
        figure(crr=None),
        "cost",
        "crr: stated None, found 2.000031746",
    ),
    "the number of brokers": (
        figure(brokers=4),
        "totals",
        "brokers: stated 4, found 3",
    ),
    "the load of all": (figure(load=0), "totals", "load: stated 0, found 47"),
    "the most load": (
        figure(most_load="20"),
        "totals",
        "most_load: stated '20', found 23",
    ),
    "a figure left out": (
        without_figure("access"),
        "totals",
        "plan.json has no figure 'access'",
    ),
    "a bound above the objective": (
        header(bound=60_000),
        "bound",
        "the objective 31.5 is below its bound 60",
    ),
    "a bound that other plans beat": (
        figure(random=20_000),
        "bound",
        "random costs 20, below the bound 28.35",
    ),
    "a bound of access that is beaten": (
        figure(bound_access=9_501),
        "bound",
        "access costs 9.5, below its bound 9.501",
    ),
    "a bound that its parts do not make": (
        figure(bound_core=22_001),
        "bound",
        "the bound is 28.35; its parts, 4.75 and 22.001, make 26.751",
    ),
    "a gap": (
        header(gap=0.01),
        "bound",
        "gap is 0.01; objective 31.5 and bound 28.35 make 0.1",
    ),
    "a gap unsaid": (
        header(gap=None),
        "bound",
        "gap is None; objective 31.5 and bound 28.35 make 0.1",
    ),
    "optimality": (
        header(status="optimal"),
        "bound",
        "the plan is said to be optimal with a gap of 0.1",
    ),
    "optimality unsaid": (
        header(bound=31_500, gap=0.0),
        "bound",
        "the plan meets its bound, but is not said to be optimal",
    ),
    "a status that there is not": (
        header(status="perfect"),
        "bound",
        "status is 'perfect', expected optimal, feasible, infeasible, unknown",
    ),
    "no objective": (
        header(objective=None),
        "bound",
        "objective None and bound 28350 in a plan that is feasible",
    ),
    "infeasibility": (
        header(status="infeasible"),
        "users",
        "6 users have brokers in a plan that is infeasible",
    ),
    "infeasibility with a cost": (
        header(status="infeasible"),
        "bound",
        "objective 31.5 in a plan that is infeasible",
    ),
    "one tree of all brokers": (
        header(tree=True),
        "circle",
        'the link from broker "b1" to broker "b2" closes a circle, expected one tree',
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_found_and_named(name: str, directory: Directory) -> None:
    edit, check, message = EDITS[name]
    edit(directory)
    directory.mend_digests()
    audit = directory.audit()
    assert not audit.ok
    found = [v.message for v in audit.violations if v.check == check]
    assert any(text.endswith(message) for text in found), audit.violations
    assert all(v.check in CHECKS for v in audit.violations)
    assert "digest" not in {v.check for v in audit.violations}


@pytest.mark.parametrize("table", ["users", "brokers", "trees", "subchannels"])
def test_a_table_that_changed_is_named_by_its_digest(
    table: str, directory: Directory
) -> None:
    directory.edit_rows(table, lambda found: found.pop())
    [first, *_] = directory.audit().violations
    assert first.check == "digest"
    assert first.message.startswith(f"{table} has digest ")


def test_what_the_digest_covers_in_plan_json_cannot_change(
    directory: Directory,
) -> None:
    directory.edit_header(lambda h: h.update(tree=True))
    [first, *_] = directory.audit().violations
    assert first.check == "digest"
    assert first.message.startswith("the plan has digest ")


JOINED: dict[str, tuple[Callable[[Directory], None], str, str]] = {
    "a link that closes a circle": (
        cell("trees", 1, **{"from": 0}),
        "circle",
        "closes a circle, expected one tree",
    ),
    "a leaf that nobody wants": (
        rows("trees", lambda found: found.insert(2, link(0, 0, 2, 3))),
        "trees",
        'messages of sub-channel 0 from broker "b0" get to broker "b3", '
        "where nobody wants them",
    ),
    "a tree that ends before": (
        rows("trees", lambda found: found.pop(3)),
        "trees",
        'messages of sub-channel 1 from broker "b0" do not get to broker "b2", '
        "where they are wanted",
    ),
    "the core cost": (figure(core=1), "cost", "core: stated 0.001, found 22"),
}


@pytest.mark.parametrize("name", JOINED)
def test_an_edit_of_a_plan_on_one_tree_is_found_and_named(
    name: str, joined_directory: Directory
) -> None:
    edit, check, message = JOINED[name]
    assert joined_directory.audit().ok
    edit(joined_directory)
    joined_directory.mend_digests()
    found = joined_directory.audit().violations
    said = [v.message for v in found if v.check == check]
    assert any(text.endswith(message) for text in said), found


def test_relays_are_right_on_one_tree_only(line: Network, joined: OverlayPlan) -> None:
    assert overlay_violations(joined, line) == []
    apart = overlay_violations(replace(joined, tree=False), line)
    assert {v.check for v in apart} == {"trees"}


def test_the_first_few_of_a_check_are_named_and_all_are_counted(
    line: Network, good: OverlayPlan
) -> None:
    lost = replace(good, broker=np.full(6, 7, np.int32))
    found = [v for v in overlay_violations(lost, line) if v.check == "broker"]
    assert len(found) == 5
    assert {v.total for v in found} == {6}


def test_a_plan_that_found_nothing_is_right_if_it_is_empty(line: Network) -> None:
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
    assert overlay_violations(none, line) == []


def test_loads_of_too_few_brokers_are_found(line: Network, good: OverlayPlan) -> None:
    found = overlay_violations(replace(good, load=good.load[:3]), line)
    assert [(v.check, v.message) for v in found] == [
        ("brokers", 'broker "b3" is not listed')
    ]


def test_bounds_of_other_attributes_are_named(directory: Directory) -> None:
    file = directory.plan / "subchannels.parquet"
    table = pq.read_table(file)
    names = ["subchannel", "size_low", "size_high"]
    pq.write_table(table.rename_columns(names), file)
    directory.edit_header(lambda h: h.update(attributes=["size"]))
    directory.mend_digests()
    assert [(v.check, v.message) for v in directory.audit().violations] == [
        ("subchannels", "the plan has bounds of size, the network cuts price")
    ]


def test_a_plan_need_not_say_how_it_compares(line: Network, good: OverlayPlan) -> None:
    said = {name: good.figures[name] for name in ("access", "random")}
    assert overlay_violations(replace(good, figures=said), line) == []
    assert overlay_violations(replace(good, figures={}), line) == []


def test_a_network_that_is_not_the_plans_is_refused(
    directory: Directory, line: Network, tmp_path: Path
) -> None:
    other = Place(str(tmp_path / "other"))
    write_network(replace(line, period_seconds=61), other)
    with pytest.raises(DigestMismatchError, match=r"^the network has digest "):
        audit_overlay_directory(Place(str(directory.plan)), other)


def test_a_network_is_found_where_it_is_given(
    directory: Directory, tmp_path: Path
) -> None:
    moved = directory.network.rename(tmp_path / "moved")
    plan = Place(str(directory.plan))
    assert audit_overlay_directory(plan, Place(str(moved))).ok
    with pytest.raises(InputError) as refused:
        audit_overlay_directory(plan)
    assert refused.value.message == (
        f"the network of {directory.plan} is not where it says: {directory.network} is "
        "not a network directory: it has no network.json"
    )
    assert refused.value.hint == "Name its network: brokerwise audit PLAN --network DIR"


def test_a_network_that_changed_is_refused(directory: Directory) -> None:
    file = directory.network / "brokers.parquet"
    table = pq.read_table(file)
    column = pa.array([c + 1 for c in table["capacity"].to_pylist()], pa.int64())
    pq.write_table(table.set_column(2, "capacity", column), file)
    with pytest.raises(DigestMismatchError, match=r"brokers\.parquet has digest "):
        directory.audit()


def test_a_plan_is_audited_before_it_appears(
    tmp_path: Path, line: Network, good: OverlayPlan
) -> None:
    def staged(plan: OverlayPlan) -> tuple[OverlayHeader, OverlayAudit]:
        place = Place(str(tmp_path / "plan"))
        output = Output.begin(place, HEADER, force=False)
        network = Place(str(tmp_path / "network"))
        digest = network_digest(line)
        header = stage_overlay_plan(output, plan, line, network, digest)
        audit = audit_staged_overlay(output.root, header, line)
        output.abort()
        return header, audit

    header, audit = staged(good)
    assert audit.ok
    assert audit.digest == header.digest
    assert not staged(replace(good, objective=1, bound=1))[1].ok


@settings(max_examples=examples(100))
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(0, 6))
def test_least_weights_are_those_of_kruskal(seed: int, brokers: int, sets: int) -> None:
    random = np.random.default_rng(seed)
    core = random.integers(0, 9, (brokers, brokers))
    core = np.triu(core, 1) + np.triu(core, 1).T
    members = random.random((sets, brokers)) < random.random((sets, 1))
    expected = [
        sum(int(core[link]) for link in spanning(core, np.flatnonzero(row).tolist()))
        for row in members
    ]
    for cells in (1, 10**6):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trees, "_CELLS", cells)
            assert trees.least_weights(core, members).tolist() == expected
