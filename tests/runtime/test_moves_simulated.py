"""Planned moves, in a world without sockets in which everything that is under way may
arrive in any order that its connections allow: the cores of the brokers, of the
publishers and of the subscribers are the real ones."""

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from tests.runtime.broker.fakes import FakeSteps

from brokerwise.runtime.broker.router import LookUpRoute, MessageRouter
from brokerwise.runtime.broker.sessions import Session
from brokerwise.runtime.broker.subscriptions import (
    AskDataCluster,
    Commands,
    JoinTopics,
    LeaveTopic,
    SessionHandler,
)
from brokerwise.runtime.client.events import GapTold, Received
from brokerwise.runtime.client.inbox import StreamMerger
from brokerwise.runtime.client.publisher import Routes
from brokerwise.runtime.protocol.fleet import (
    Address,
    CursorRow,
    JoinAnswer,
    MoveAnswer,
    MoveOrder,
    Route,
)
from brokerwise.runtime.protocol.frames import (
    Accept,
    Connect,
    Forward,
    Frame,
    FromBroker,
    FromClient,
    Logout,
    Message,
    Moved,
    Publish,
    RequestToMove,
    StaleRoute,
    Subscribe,
    Subscribed,
    decode_from_broker,
    decode_from_client,
    encode,
)
from brokerwise.runtime.protocol.limits import TRANSITION_SECONDS


def framed(text: bytes) -> bytes:
    return text + b"\n"


def no_feed(topic: str, data: msgspec.Raw) -> str:
    raise AssertionError("nobody feeds anything here")


BROKERS = ("b0", "b1", "b2")
TOPICS = ("news", "sport")


class World:
    """Everything under way, in first-in-first-out lanes; which lane moves next is
    chance. Time passes only when nothing else happens."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 0.0
        self.lanes: dict[object, deque[Callable[[], None]]] = {}
        self.routes: dict[str, Route] = {}
        self.brokers = {name: Broker(name, self) for name in BROKERS}
        self.changing: deque[Callable[[], None]] = deque()
        self.is_changing = False
        self.moves = 0
        self.answers: list[str] = []

    def post(self, lane: object, work: Callable[[], None]) -> None:
        self.lanes.setdefault(lane, deque()).append(work)

    def step(self) -> bool:
        busy = [lane for lane, waiting in self.lanes.items() if waiting]
        if not busy:
            return False
        self.lanes[self.random.choice(busy)].popleft()()
        return True

    def pass_time(self) -> None:
        self.now += TRANSITION_SECONDS
        for broker in self.brokers.values():
            broker.router.settle_late()

    def come_to_rest(self) -> None:
        for _ in range(4):
            while self.step():
                pass
            self.pass_time()

    # The coordinator: one change of routes at a time

    def change(self, work: Callable[[], None]) -> None:
        self.changing.append(work)
        self._next_change()

    def _next_change(self) -> None:
        if self.changing and not self.is_changing:
            self.is_changing = True
            self.changing.popleft()()

    def changed(self) -> None:
        self.is_changing = False
        self._next_change()

    def route(self, topic: str) -> Route:
        return self.routes.get(topic, Route(topic, 0, ()))

    def new_route(self, topic: str, names: list[str]) -> Route:
        addresses = tuple(Address(name, name) for name in names)
        route = Route(topic, self.route(topic).generation + 1, addresses)
        self.routes[topic] = route
        return route

    def join(self, broker: "Broker", topics: tuple[str, ...]) -> None:
        """Tell those who carry the topics, collect what they have seen, answer."""
        told: dict[str, list[Route]] = {}
        for topic in topics:
            before = [a.broker for a in self.route(topic).brokers]
            route = self.new_route(topic, sorted({*before, broker.name}))
            for name in before:
                if name != broker.name:
                    told.setdefault(name, []).append(route)
        cursors: dict[tuple[str, str], tuple[int, int]] = {}
        left = set(told)

        def answer() -> None:
            rows = tuple((*key, *position) for key, position in cursors.items())
            found = JoinAnswer(tuple(self.routes[t] for t in topics), (), rows)
            self.post(("coordinator", broker.name), lambda: broker.joined(found))
            self.changed()

        def heard(name: str, rows: tuple[CursorRow, ...]) -> None:
            for topic, source, epoch, seq in rows:
                key = (topic, source)
                cursors[key] = max(cursors.get(key, (0, 0)), (epoch, seq))
            left.discard(name)
            if not left:
                answer()

        for name, routes in told.items():
            self.tell(name, routes, heard)
        if not told:
            answer()

    def tell(
        self,
        name: str,
        routes: list[Route],
        heard: Callable[[str, tuple[CursorRow, ...]], None] | None = None,
    ) -> None:
        def take() -> None:
            rows = self.brokers[name].router.change_routes(routes)
            if heard is not None:
                self.post((name, "coordinator"), lambda: heard(name, rows))

        self.post(("coordinator", name), take)

    def leave(self, broker: "Broker", topics: tuple[str, ...]) -> None:
        for topic in topics:
            before = [a.broker for a in self.route(topic).brokers]
            others = [name for name in before if name != broker.name]
            route = self.new_route(topic, others) if others else self.routes[topic]
            for name in before:
                self.tell(name, [route])
        self.post(("coordinator", broker.name), lambda: broker.left(topics))
        self.changed()

    def order_move(self, client: "Client", source: str, target: str) -> None:
        self.moves += 1
        to, move = Address(target, target), self.moves

        def order(step: str, then: Callable[[MoveAnswer], None]) -> None:
            found = MoveOrder(move, step, client.user, to)
            handler = self.brokers[source].handler
            handler.moves.order(found, handler.users.get(client.user), then)

        def accepted(answer: MoveAnswer) -> None:
            if answer.answer == "accepted":
                self.post(("coordinator", source), lambda: order("connect", connected))
            else:
                self.answers.append(answer.answer)

        def connected(answer: MoveAnswer) -> None:
            self.answers.append(answer.answer)

        self.post(("coordinator", source), lambda: order("request_to_move", accepted))


class Broker:
    """The real cores, and lanes for all that they command."""

    def __init__(self, name: str, world: World) -> None:
        self.name, self.world = name, world
        self.router = MessageRouter(
            name,
            peers=self,
            steps=FakeSteps(),
            feed=no_feed,
            frame_text=framed,
            clock=lambda: world.now,
            call_soon=lambda work: world.post((name, "flushes"), work),
        )
        self.handler = SessionHandler(self.router, no_feed)
        self.asked = False
        self.leaving: set[str] = set()

    def forward(self, broker: str, frame: Forward) -> None:
        target = self.world.brokers[broker]
        self.world.post(
            (self.name, broker),
            lambda: target.carry_out(target.router.take_forwarded(frame)),
        )

    def is_congested(self) -> bool:
        return False

    def handle(self, session: Session, frame: FromClient) -> None:
        self.carry_out(self.handler.handle(session, frame, self.world.now))

    def close(self, session: Session) -> None:
        self.carry_out(self.handler.close(session))

    def carry_out(self, commands: Commands) -> None:
        for command in commands:
            match command:
                case JoinTopics():
                    self.world.post((self.name, "asks"), self._ask)
                case LeaveTopic(topic):
                    self.leaving.add(topic)
                    self.world.post((self.name, "asks"), self._ask)
                case LookUpRoute(topic):
                    self._look_up(topic)
                case AskDataCluster():
                    raise AssertionError("nobody has a channel here")

    def joined(self, answer: JoinAnswer) -> None:
        self.asked = False
        self.carry_out(self.handler.finish_joining(answer))
        self._ask()

    def left(self, topics: tuple[str, ...]) -> None:
        self.asked = False
        self.handler.finish_leaving(topics)
        self._ask()

    def _look_up(self, topic: str) -> None:
        route = self.world.route(topic)
        self.world.post(
            ("coordinator", self.name),
            lambda: self.carry_out(self.router.take_route(topic, route)),
        )

    def _ask(self) -> None:
        """As the broker's shell does: one request after the other."""
        if self.asked:
            return
        leaving, self.leaving = self.leaving, set()
        wanted = self.handler.topics_to_join()
        unwanted = self.handler.topics_to_leave(leaving)
        self.asked = bool(wanted or unwanted)
        if wanted:
            self.leaving |= set(unwanted)
            self.world.change(lambda: self.world.join(self, wanted))
        elif unwanted:
            self.world.change(lambda: self.world.leave(self, unwanted))


class Line:
    """From a broker to one of its sessions."""

    def __init__(self, lane: object, world: World, hear: Callable[..., None]) -> None:
        self._lane, self._world, self._hear = lane, world, hear

    @property
    def write(self) -> Callable[[bytes], None]:
        return self.send

    def send(self, text: bytes) -> None:
        for line in text.splitlines():
            frame = decode_from_broker(line)
            self._world.post(self._lane, partial(self._hear, frame))

    def buffered(self) -> int:
        return 0

    def close(self, code: int, reason: str) -> None:
        return


@dataclass(eq=False)
class Publisher:
    source: str
    world: World
    routes: Routes = field(default_factory=Routes)
    sessions: dict[str, Session] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)

    def publish(self, topic: str) -> None:
        if not self.routes.knows(topic):
            self.learn(self.world.route(topic))
        choice = self.routes.choose(topic, self.sessions.__contains__)
        if not choice.urls:
            return  # nobody to send to yet: nothing is promised of this message
        seq = self.sent.get(topic, 0) + 1
        self.sent[topic] = seq
        data = msgspec.Raw(b"%d" % seq)
        for name in choice.urls:
            self.say(name, Publish(topic, 1, seq, data, choice.generation))

    def learn(self, route: Route) -> None:
        self.routes.learn(route)
        for name in self.routes.lacking(self.sessions.__contains__):
            self.world.post((self.source, "dials"), lambda name=name: self.dial(name))  # type: ignore[misc]

    def dial(self, name: str) -> None:
        if name not in self.sessions:
            line = Line((name, self.source), self.world, self.hear)
            self.sessions[name] = Session(line, self.source, self.source, 0.0)

    def say(self, name: str, frame: Frame) -> None:
        broker, session = self.world.brokers[name], self.sessions[name]
        heard = decode_from_client(encode(frame))
        self.world.post((self.source, name), lambda: broker.handle(session, heard))

    def hear(self, frame: FromBroker) -> None:
        if isinstance(frame, StaleRoute):
            brokers = tuple(Address(*found) for found in frame.brokers)
            self.learn(Route(frame.topic, frame.generation, brokers))


@dataclass(eq=False)
class Client:
    """A subscriber: the real `StreamMerger`, and the steps of a move."""

    user: str
    world: World
    following: StreamMerger = field(default_factory=StreamMerger)
    streams: dict[int, tuple[str, Session]] = field(default_factory=dict)
    moving: dict[int, tuple[int, int]] = field(default_factory=dict)
    seen: list[tuple[str, str, int]] = field(default_factory=list)
    gaps: list[GapTold] = field(default_factory=list)
    number: int = 0

    def attach(self, broker: str, topics: tuple[str, ...]) -> int:
        """Subscribe over a new connection; returns its stream."""
        self.number += 1
        stream = self.number
        lane = (broker, self.user, stream)
        line = Line(lane, self.world, lambda frame: self.hear(stream, frame))
        session = Session(line, self.user, self.user, 0.0)
        self.streams[stream] = (broker, session)
        self.say(stream, Subscribe(stream, topics))
        return stream

    def broker(self) -> str:
        return self.streams[max(self.streams)][0]

    def say(self, stream: int, frame: FromClient) -> None:
        broker, session = self.streams[stream]
        target = self.world.brokers[broker]

        def heard() -> None:
            if isinstance(frame, Logout):
                target.close(session)
            else:
                target.handle(session, frame)

        self.world.post((self.user, stream, broker), heard)

    def hear(self, stream: int, frame: FromBroker) -> None:
        match frame:
            case Message():
                data = msgspec.json.decode(frame.data)
                received = Received(
                    frame.topic, frame.source, frame.epoch, frame.seq, data
                )
                self.note(self.following.receive(stream, received))
                self.say_moved()
            case Subscribed():
                self.note(self.following.serve(stream, frame.topics, frame.cursors))
                self.say_moved()
            case RequestToMove():
                self.say(stream, Accept(frame.move))
            case Connect():
                topics = tuple(sorted(self.following.topics_of(stream)))
                self.moving[frame.move] = (stream, self.attach(frame.broker, topics))

    def say_moved(self) -> None:
        """Once a move's new stream is alone, the old one is not needed."""
        for move, (old, new) in list(self.moving.items()):
            if self.following.topics_of(new) and not self.following.topics_of(old):
                del self.moving[move]
                self.say(old, Moved(move))
                self.say(old, Logout())

    def note(self, events: object) -> None:
        for event in events:  # type: ignore[attr-defined]
            if isinstance(event, GapTold):
                self.gaps.append(event)
            else:
                assert event.data == event.seq
                self.seen.append((event.topic, event.source, event.seq))


def settled_world(seed: int) -> tuple[World, list[Client], list[Publisher]]:
    """Two subscribers, two publishers, all known to each other."""
    world = World(seed)
    clients = [Client("ann", world), Client("bob", world)]
    publishers = [Publisher("paper", world), Publisher("radio", world)]
    clients[0].attach("b0", TOPICS)
    clients[1].attach("b1", TOPICS[:1])
    world.come_to_rest()
    for publisher in publishers:
        for topic in TOPICS:
            publisher.learn(world.route(topic))
    world.come_to_rest()
    return world, clients, publishers


@given(
    seed=st.integers(0, 2**32),
    busy=st.integers(1, 30),
    moves=st.integers(1, 5),
    leaves=st.booleans(),
)
@example(seed=1, busy=20, moves=5, leaves=True)
def test_moves_lose_nothing_show_nothing_twice_and_keep_the_order(
    seed: int, busy: int, moves: int, leaves: bool
) -> None:
    world, clients, publishers = settled_world(seed)
    chance = world.random
    for _ in range(moves):
        client = chance.choice(clients)
        before = client.broker()
        target = chance.choice([name for name in BROKERS if name != before])
        world.order_move(client, before, target)
        wanted, idle, budget = len(world.answers) + 1, 0, 40
        while len(world.answers) < wanted:
            if budget and chance.random() < busy / 40:
                budget -= 1
                chance.choice(publishers).publish(chance.choice(TOPICS))
            if not world.step():
                idle += 1
                assert idle < 100, "the move is stuck"
                world.pass_time()
        if leaves:
            world.come_to_rest()
    world.come_to_rest()
    assert set(world.answers) == {"moved"}
    for client, topics in zip(clients, (TOPICS, TOPICS[:1]), strict=True):
        assert client.gaps == []
        for topic in topics:
            for publisher in publishers:
                found = [
                    seq
                    for t, s, seq in client.seen
                    if (t, s) == (topic, publisher.source)
                ]
                assert found == list(range(1, publisher.sent.get(topic, 0) + 1))
