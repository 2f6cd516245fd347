"""From what brokers say to what the balancer sees."""

from collections.abc import Mapping

import pytest

from brokerwise.runtime.coordinator.balance.loads import (
    FleetLoads,
    StoredFleet,
    fleet_loads,
)
from brokerwise.runtime.coordinator.brokers import Broker
from brokerwise.runtime.net.errors import UnavailableError
from brokerwise.runtime.protocol.fleet import BalancePage, BrokerState


def up(name: str, epoch: int = 1) -> Broker:
    state = BrokerState.UP
    return Broker(name, "ws://x:1", 1, state, epoch, 0, None, None, None, 0)


def stored(
    *brokers: Broker, sessions: Mapping[tuple[str, str], str | None], **more: object
) -> StoredFleet:
    fields: dict[str, object] = {"returning": frozenset(), "moving": frozenset()}
    names = tuple(broker.name for broker in brokers)
    found = {**fields, **more}
    return StoredFleet(brokers, sessions, moves_before=3, names=names, **found)  # type: ignore[arg-type]


B0 = BalancePage(
    *("b0", 1, (("art", 1.0, 1.0), ("news", 10.0, 0.75))),
    (("ann", (0, 1), 5), ("cid", (1,), 7)),
)
B1 = BalancePage(
    "b1", 1, (("news", 30.0, 0.25), ("sport", 2.0, 1.0)), (("ben", (0, 1), 6),)
)
RATES = {"art": 1.0, "news": 15.0, "sport": 2.0}
HERE = {("ann", "b0"): "", ("cid", "b0"): "", ("ben", "b1"): ""}


def loads(**more: object) -> FleetLoads:
    sessions = {**HERE, **more.pop("sessions", {})}  # type: ignore[dict-item]
    return fleet_loads(
        stored(up("b0"), up("b1"), sessions=sessions, **more), [B0, B1], RATES, 1, 2
    )


def test_sessions_are_numbered_by_user_and_topics_by_name() -> None:
    found = loads()
    snapshot = found.report.snapshot
    assert found.users == ("ann", "ben", "cid")
    assert snapshot.places.tolist() == [0, 1, 0]
    assert snapshot.state_bytes.tolist() == [5, 6, 7]
    wanted = [snapshot.wanted.of(number).tolist() for number in range(3)]
    assert wanted == [[0, 1], [1, 2], [1]]
    assert found.report.keys == [("ann", ""), ("ben", ""), ("cid", "")]
    assert found.report.held is not None
    assert not found.report.held.any()


def test_loads_follow_the_load_law() -> None:
    art, news, sport = 60, 900, 120
    found = loads().report.snapshot.loads().tolist()
    assert found == [2 * art + 3 * news, 2 * news + 2 * sport]


def test_who_is_moving_or_not_where_it_was_put_stays() -> None:
    def held(**more: object) -> list[bool]:
        found = loads(**more).report.held
        assert found is not None
        return [bool(value) for value in found]

    assert held(moving=frozenset({("ben", "")})) == [False, True, False]
    assert held(returning=frozenset({"cid"})) == [False, False, True]
    assert held(sessions={("ann", "b0"): None}) == [True, False, False]


def test_two_sessions_of_a_user_are_told_apart_and_known_as_one_user_s() -> None:
    two = BalancePage("b1", 1, B1.topics, (("ann", (1,), 1),))
    sessions = {("ann", "b0"): "art", ("ann", "b1"): "sport", ("cid", "b0"): "news"}
    found = fleet_loads(
        stored(up("b0"), up("b1"), sessions=sessions), [B0, two], RATES, 1, 2
    )
    assert found.report.keys == [("ann", "art"), ("ann", "sport"), ("cid", "news")]
    assert found.report.snapshot.users.tolist() == [0, 0, 1]


def test_sessions_on_a_broker_that_is_emptied_are_left_out() -> None:
    found = fleet_loads(stored(up("b0"), sessions=HERE), [B0, B1], RATES, 1, 2)
    assert found.users == ("ann", "cid")
    assert found.report.snapshot.brokers == 1
    assert found.report.snapshot.rates.tolist() == [60, 900, 120]


@pytest.mark.parametrize("brokers", [(up("b0", 2), up("b1")), (up("b0"), up("b2"))])
def test_a_broker_that_came_meanwhile_spoils_the_picture(
    brokers: tuple[Broker, ...],
) -> None:
    with pytest.raises(UnavailableError, match="ask again"):
        fleet_loads(stored(*brokers, sessions=HERE), [B0, B1], RATES, 1, 2)


def test_a_fleet_without_brokers_or_sessions_can_be_seen() -> None:
    assert fleet_loads(stored(sessions={}), [], {}, 1, 2).report.snapshot.brokers == 0
    empty = BalancePage("b0", 1, (), ())
    found = fleet_loads(stored(up("b0"), sessions={}), [empty], {}, 1, 2)
    assert found.report.snapshot.loads().tolist() == [0]
