"""Plans of kind overlay as seeds: brokers forward along the planned trees."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.auditing.overlay_cases import Literal, network_of, plan_of, plans
from tests.tiers import examples

from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.subchannels import Axis as ModelAxis
from brokerwise.runtime.fleet.approval import UnsoundPlanError, seed_of_plan
from brokerwise.runtime.fleet.seeds import overlay_seed
from brokerwise.runtime.protocol.fleet import Axis, Branch
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession
from brokerwise.storage.network import write_network
from brokerwise.storage.overlay_plan import read_overlay_header, write_overlay_plan
from brokerwise.storage.place import Place

HOMES = [0, 1, 2]


@pytest.fixture
def line() -> Network:
    """Three brokers in a row with a user each; everyone else wants what u0 says."""
    return network_of(
        publishes=[{0: 5, 2: 1}, {}, {1: 3}],
        wants=[[1], [0], [0, 1]],
        users=[(0, 0), (1, 0), (2, 0)],
        brokers=[(0, 0), (1, 0), (2, 0)],
        capacity=[50, 50, 50],
    )


@pytest.fixture
def plan(line: Network, tmp_path: Path) -> Place:
    network = Place(str(tmp_path / "network"))
    write_network(line, network)
    place = Place(str(tmp_path / "plan"))
    write_overlay_plan(plan_of(line, HOMES), line, place, network_place=network)
    return place


def test_every_user_has_one_session(plan: Place) -> None:
    seed = seed_of_plan(plan)
    assert seed.sessions == (
        SeedSession("u0", "b0", ("subchannel/1",)),
        SeedSession("u1", "b1", ("subchannel/0",)),
        SeedSession("u2", "b2", ("subchannel/0", "subchannel/1")),
    )
    rates = {"subchannel/0": 5, "subchannel/1": 3, "subchannel/2": 1}
    assert (seed.kind, seed.placement, seed.rates) == ("overlay", "plan", rates)
    assert seed.digest == read_overlay_header(plan).digest


def test_brokers_have_their_places(plan: Place) -> None:
    assert seed_of_plan(plan).brokers[2] == SeedBroker("b2", 50, 2.0, 0.0)


def test_points_that_are_not_in_a_plane_are_left_out() -> None:
    network = network_of(
        publishes=[{}], wants=[[]], users=[(0,)], brokers=[(0,)], capacity=[1]
    )
    seed = overlay_seed(plan_of(network, [0]), network)
    assert seed.brokers == (SeedBroker("b0", 1),)
    assert seed.sessions == (SeedSession("u0", "b0", ()),)


def test_brokers_forward_along_the_trees(plan: Place) -> None:
    overlay = seed_of_plan(plan).overlay
    branches = {name: list(part.branches) for name, part in overlay.items()}
    assert branches == {
        "b0": [Branch("b0", "subchannel/0", ("b1",))],
        "b1": [Branch("b0", "subchannel/0", ("b2",))],
        "b2": [Branch("b2", "subchannel/1", ("b0",))],
    }
    assert overlay["b0"].axes == (Axis("price", (0.0, 1.0, 2.0, 5.0)),)


def test_a_changed_wiring_is_refused(plan: Place) -> None:
    header = json.loads((plan / "plan.json").read())
    header["digests"]["trees"] = "0" * 64
    (plan / "plan.json").write(json.dumps(header).encode())
    with pytest.raises(UnsoundPlanError) as caught:
        seed_of_plan(plan)
    assert caught.value.details[0].startswith("digest: trees has digest ")


def test_another_network_is_refused(plan: Place, tmp_path: Path) -> None:
    other = network_of(
        publishes=[{}], wants=[[]], users=[(0,)], brokers=[(0,)], capacity=[1]
    )
    write_network(other, Place(str(tmp_path / "other")))
    with pytest.raises(DigestMismatchError, match="it has changed since"):
        seed_of_plan(plan, Place(str(tmp_path / "other")))


def test_a_network_elsewhere_must_be_named(plan: Place, tmp_path: Path) -> None:
    (tmp_path / "network").rename(tmp_path / "moved")
    with pytest.raises(InputError, match="is not where it says") as caught:
        seed_of_plan(plan)
    assert caught.value.hint == "Name where it is with --workload DIR."
    assert len(seed_of_plan(plan, Place(str(tmp_path / "moved"))).sessions) == 3


def test_a_plan_of_no_kind_that_runs_is_refused(plan: Place) -> None:
    header = json.loads((plan / "plan.json").read())
    (plan / "plan.json").write(json.dumps(header | {"kind": "guess"}).encode())
    with pytest.raises(InputError, match="expected provision, fill, overlay or colo"):
        seed_of_plan(plan)


def reached(seed: Seed, origin: str, topic: str) -> list[str]:
    """The brokers that content comes to, one hop after the other."""
    found, queue = [], [origin]
    while queue:
        broker = queue.pop(0)
        found.append(broker)
        for branch in seed.overlay[broker].branches:
            if (branch.origin, branch.topic) == (origin, topic):
                queue += branch.brokers
    return found


@settings(max_examples=examples(50))
@given(plans())
def test_content_gets_once_to_every_broker_that_wants_it(
    case: tuple[Network, OverlayPlan],
) -> None:
    network, plan = case
    seed = overlay_seed(plan, network)
    truth = Literal(network, plan.broker.tolist())
    for source, number in truth.sources():
        brokers = reached(seed, f"b{source}", f"subchannel/{number}")
        assert len(brokers) == len(set(brokers))
        wanted = {f"b{end}" for end in truth.ends(source, number)}
        assert wanted <= set(brokers)
        if not plan.tree:  # the one tree may lead through others
            assert wanted == set(brokers)


def test_axes_of_several_dimensions_are_kept() -> None:
    axes = (ModelAxis("x", (0, 1, 2)), ModelAxis("y", (0, 3)))
    network = network_of(
        publishes=[{}],
        wants=[[1]],
        users=[(0,)],
        brokers=[(0,)],
        capacity=[1],
        axes=axes,
    )
    seed = overlay_seed(plan_of(network, [0]), network)
    assert [a.attribute for a in seed.overlay["b0"].axes] == ["x", "y"]
