"""Whatever happens to a fleet, in whatever order, some things always hold."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)
from tests.tiers import examples

from brokerwise.runtime.coordinator import drains, leases, moves, routes, sessions
from brokerwise.runtime.coordinator.brokers import (
    GONE,
    all_brokers,
    candidates,
    find_broker,
    the_broker,
)
from brokerwise.runtime.coordinator.moves import UNFINISHED
from brokerwise.runtime.coordinator.status import find
from brokerwise.runtime.coordinator.store import new_state
from brokerwise.runtime.net.errors import RefusalError
from brokerwise.runtime.process.state_file import Sql, transaction
from brokerwise.runtime.protocol.fleet import (
    BrokerRegistration,
    BrokerState,
    MoveState,
    Then,
)
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession

BROKERS = ["b0", "b1", "b2"]
USERS = ["ann", "ben", "cid"]
TOPICS = ["news", "sport", "art"]
brokers, users = st.sampled_from(BROKERS), st.sampled_from(USERS)
topics = st.lists(st.sampled_from(TOPICS), max_size=3)
ANSWERS = ["accepted", "declined", "moved", "absent", "timeout", "refused"]


class FleetMachine(RuleBasedStateMachine):
    """Drives the stored state as the coordinator does, with no network and no clock."""

    seed = Seed(tuple(SeedBroker(name) for name in BROKERS), "round-robin")

    def __init__(self) -> None:
        super().__init__()
        self.sql: Sql = new_state(self.seed)
        self.now = 0.0
        self.generations: dict[str, int] = {}
        self.epochs: list[int] = []
        self.states: dict[int, MoveState] = {}

    def teardown(self) -> None:
        self.sql.close()

    @rule(text=st.sampled_from([*USERS, *TOPICS]))
    def find(self, text: str) -> None:
        found = find(self.sql, text)
        assert all(topic.why for topic in found.topics)
        assert all(user.why for user in found.users)
        for user in found.users:
            places = [session.broker for session in user.sessions]
            stored = sessions.sessions_of(self.sql, user.user)
            assert places == [session.broker for session in stored]
        for topic in found.topics:
            stored_route = routes.stored_route(self.sql, topic.topic)
            assert topic.brokers == stored_route.brokers

    @rule(broker=brokers)
    def register(self, broker: str) -> None:
        kept = set(sessions.sessions_on(self.sql, broker))
        with transaction(self.sql):
            registration = BrokerRegistration(broker, f"ws://{broker}:1", 1)
            found = leases.register(self.sql, registration, self.now)
        assert all(broker not in names(route.brokers) for route in found.routes)
        assert kept <= set(sessions.sessions_on(self.sql, broker))
        self.epochs.append(found.epoch)

    @rule(broker=brokers, graceful=st.booleans())
    def lose(self, broker: str, graceful: bool) -> None:
        if self.is_alive(broker):
            with transaction(self.sql):
                leases.lose(self.sql, broker, self.now, graceful=graceful)

    @rule(broker=brokers, joined=topics, left=topics)
    def join(self, broker: str, joined: list[str], left: list[str]) -> None:
        if self.is_alive(broker):
            with transaction(self.sql):
                for topic in joined:
                    routes.join(self.sql, broker, topic)
                for topic in left:
                    routes.leave(self.sql, broker, topic)

    @rule(wanted=topics)
    def ask_for_routes(self, wanted: list[str]) -> None:
        with transaction(self.sql):
            routes.assign_brokers(self.sql, wanted)
        if candidates(self.sql) and not self.seed.kind:
            assert all(routes.stored_route(self.sql, topic).brokers for topic in wanted)

    @rule(user=users)
    def request_broker(self, user: str) -> None:
        try:
            with transaction(self.sql):
                answer = sessions.request_broker(self.sql, user, None)
        except RefusalError:
            assert self.may_refuse(user)
            return
        for place in answer.sessions:
            assert the_broker(self.sql, place.broker).serving

    @rule(user=users, to=brokers)
    def move(self, user: str, to: str) -> None:
        for session in sessions.sessions_of(self.sql, user):
            up = the_broker(self.sql, to).state is BrokerState.UP
            moving = moves.is_moving(self.sql, session.broker, user)
            serving = the_broker(self.sql, session.broker).serving
            if up and serving and not moving and session.broker != to:
                with transaction(self.sql):
                    moves.request_move(self.sql, user, session.broker, to)

    @rule(data=st.data(), answer=st.sampled_from(ANSWERS))
    def answer_move(self, data: st.DataObject, answer: str) -> None:
        waiting = moves.unfinished_moves(self.sql, 100)
        if not waiting:
            return
        move = data.draw(st.sampled_from(waiting))
        with transaction(self.sql):
            after = moves.take_answer(self.sql, move, answer)
        assert after is not None
        if after.state is MoveState.DONE:
            assert not sessions_between(self.sql, move.user, move.source)
        with transaction(self.sql):  # the same answer again comes too late
            assert moves.take_answer(self.sql, move, answer) == after

    @rule(broker=brokers, then=st.sampled_from(Then))
    def drain(self, broker: str, then: Then) -> None:
        try:
            with transaction(self.sql):
                drains.begin_drain(self.sql, broker, then, self.now)
        except RefusalError:
            return
        assert the_broker(self.sql, broker).state is BrokerState.DRAINING

    @rule(broker=brokers)
    def activate(self, broker: str) -> None:
        if self.is_alive(broker):
            with transaction(self.sql):
                drains.activate(self.sql, broker, self.now)

    @rule()
    def advance(self) -> None:
        with transaction(self.sql):
            drains.advance(self.sql, self.now)

    @rule(data=st.data())
    def tell(self, data: st.DataObject) -> None:
        waiting = routes.untold(self.sql)
        if waiting:
            broker = data.draw(st.sampled_from(sorted(waiting)))
            with transaction(self.sql):
                told = routes.routes_of(self.sql, waiting[broker])
                routes.mark_told(self.sql, broker, told)

    @precondition(lambda self: self.epochs)
    @rule()
    def settle(self) -> None:
        """When everybody agrees and nothing else happens, all comes to an end."""
        for _ in range(20):
            with transaction(self.sql):
                drains.advance(self.sql, self.now)
            for move in moves.unfinished_moves(self.sql, 100):
                with transaction(self.sql):
                    moves.take_answer(self.sql, move, "absent")
        assert moves.unfinished_moves(self.sql, 100) == []
        if candidates(self.sql):
            states = {b.state for b in all_brokers(self.sql)}
            assert BrokerState.DRAINING not in states
            self.assert_at_home()

    def assert_at_home(self) -> None:
        for user in USERS:
            for session in sessions.sessions_of(self.sql, user):
                home = find_broker(self.sql, session.home)
                if home is not None and home.state is BrokerState.UP:
                    shared = sessions_between(self.sql, user, session.broker)
                    gave_up = moves.attempts(
                        self.sql, user, session.broker, home.moves_before, home.name
                    )
                    assert (
                        session.broker == home.name or len(shared) > 1 or gave_up >= 2
                    )

    def is_alive(self, broker: str) -> bool:
        return the_broker(self.sql, broker).alive

    def may_refuse(self, user: str) -> bool:
        return not candidates(self.sql)

    def sessions(self, user: str) -> list[sessions.Session]:
        return sessions.sessions_of(self.sql, user)

    @invariant()
    def no_session_is_on_a_lost_broker_while_another_is_up(self) -> None:
        if candidates(self.sql):
            for broker in all_brokers(self.sql):
                if broker.state in GONE:
                    assert sessions.sessions_on(self.sql, broker.name) == {}

    @invariant()
    def every_carrier_is_there_and_listed_once(self) -> None:
        for route in routes.all_routes(self.sql):
            listed = names(route.brokers)
            assert len(set(listed)) == len(listed)
            assert all(self.is_alive(name) for name in listed)

    @invariant()
    def generations_and_epochs_only_grow(self) -> None:
        for topic in TOPICS:
            generation = routes.stored_route(self.sql, topic).generation
            assert generation >= self.generations.get(topic, 0)
            self.generations[topic] = generation
        assert self.epochs == sorted(set(self.epochs))

    @invariant()
    def moves_never_go_back_and_only_between_brokers_that_are_there(self) -> None:
        order = list(MoveState)
        for move in moves.newest_moves(self.sql, None, 1000):
            before = self.states.get(move.id, MoveState.REQUESTED)
            assert before in UNFINISHED or move.state is before
            assert order.index(move.state) >= order.index(before)
            self.states[move.id] = move.state
            if move.state in UNFINISHED:
                assert self.is_alive(move.source)
                assert the_broker(self.sql, move.target).serving

    @invariant()
    def whoever_a_route_concerns_knows_it_or_will_be_told(self) -> None:
        for broker in routes.untold(self.sql):
            assert self.is_alive(broker)

    @invariant()
    def every_session_of_the_seed_is_still_there(self) -> None:
        found = {(s.user, s.home, s.topics) for u in USERS for s in self.sessions(u)}
        assert {(s.user, s.broker, s.topics) for s in self.seed.sessions} <= found


class PlannedFleetMachine(FleetMachine):
    """The same with a plan: sessions have homes."""

    seed = Seed(
        tuple(SeedBroker(name, capacity=100) for name in BROKERS),
        "plan",
        kind="provision",
        sessions=(
            SeedSession("ann", "b0", ("news",)),
            SeedSession("ann", "b1", ("sport",)),
            SeedSession("ben", "b1", ("news", "art")),
            SeedSession("cid", "b2", ("art",)),
        ),
        rates={"news": 10, "sport": 5, "art": 1},
    )

    def may_refuse(self, user: str) -> bool:
        """Also while the broker that shall serve it has not started yet."""
        states = [
            the_broker(self.sql, session.broker).state
            for session in sessions.sessions_of(self.sql, user)
        ]
        return BrokerState.EXPECTED in states or not candidates(self.sql)


def names(addresses: object) -> list[str]:
    return [address.broker for address in addresses]  # type: ignore[attr-defined]


def sessions_between(sql: Sql, user: str, broker: str) -> list[sessions.Session]:
    return [
        session
        for session in sessions.sessions_of(sql, user)
        if session.broker == broker
    ]


bounded = settings(max_examples=examples(40), stateful_step_count=40)
TestFleet = FleetMachine.TestCase
TestFleet.settings = bounded
TestPlannedFleet = PlannedFleetMachine.TestCase
TestPlannedFleet.settings = bounded


def test_a_broker_that_is_activated_takes_over_from_one_that_was_lost() -> None:
    fleet = PlannedFleetMachine()
    try:
        fleet.register(broker="b2")
        fleet.register(broker="b0")
        fleet.drain(broker="b0", then=Then.STAY)
        fleet.lose(broker="b2", graceful=False)
        fleet.activate(broker="b0")
        fleet.no_session_is_on_a_lost_broker_while_another_is_up()
    finally:
        fleet.teardown()
