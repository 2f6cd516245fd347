"""Channel results, in a world without sockets or Spark in which requests and answers
may be late or lost, brokers die, and clients move, leave, come back and start again:
the cores of brokers and clients, and the data cluster's tables, are the real ones."""

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.runtime.broker.fakes import FakePeers, FakeSteps
from tests.tiers import examples

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.broker.router import MessageRouter
from brokerwise.runtime.broker.sessions import Session
from brokerwise.runtime.broker.subscriptions import (
    AskDataCluster,
    Commands,
    SessionHandler,
)
from brokerwise.runtime.client.events import Event, GapTold, Received
from brokerwise.runtime.client.inbox import StreamMerger
from brokerwise.runtime.data_cluster.store import new_state
from brokerwise.runtime.data_cluster.subscriptions import (
    acknowledge,
    brokers_of,
    check_epoch,
    create_broker,
    subscribe,
    unsubscribe,
)
from brokerwise.runtime.process.state_file import transaction
from brokerwise.runtime.protocol.data import (
    AcknowledgeRequest,
    BrokerCreation,
    Interest,
    Pull,
    PullAnswer,
    PullRequest,
    Result,
    ResultBatch,
    SubscribeAnswer,
    SubscribeRequest,
    UnsubscribeRequest,
)
from brokerwise.runtime.protocol.frames import (
    Ack,
    FromBroker,
    FromClient,
    Message,
    Subscribe,
    Subscribed,
    Unsubscribe,
    decode_from_broker,
    decode_from_client,
    encode,
)
from brokerwise.runtime.protocol.names import SOURCE, channel_topic

T = TypeVar("T")
BROKERS = ("b0", "b1", "b2")
TOPICS = tuple(channel_topic("near", {"type": t}) for t in ("fire", "flood"))
USERS = ("ann", "bob", "cyd")
MOST_PULLED = 3  # results in one answer: so that there are several


def framed(text: bytes) -> bytes:
    return text + b"\n"


def no_feed(topic: str, data: msgspec.Raw) -> str:
    raise AssertionError("nobody feeds anything here")


class World:
    """Everything under way, in first-in-first-out lanes; which lane moves next is
    chance, and while it is `rough`, whether a request or its answer arrives."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rough = False
        self.lanes: dict[object, deque[Callable[[], None]]] = {}
        self.sql = new_state()
        self.epochs = 0
        self.kept_after = 0  # results up to this one are not kept any more
        self.brokers: dict[str, Broker] = {}
        for name in BROKERS:
            self.start(name)

    def post(self, lane: object, work: Callable[[], None]) -> None:
        self.lanes.setdefault(lane, deque()).append(work)

    def step(self) -> bool:
        busy = [lane for lane, waiting in self.lanes.items() if waiting]
        if busy:
            self.lanes[self.random.choice(busy)].popleft()()
        return bool(busy)

    def come_to_rest(self) -> None:
        """Until nobody has anything more to say; brokers look at everything."""
        self.rough = False
        for _ in range(6):
            for broker in self.brokers.values():
                broker.exchange(says_all=True)
                broker.pull(all_of_them=True)
            while self.step():
                pass

    def start(self, name: str) -> None:
        self.epochs += 1
        self.brokers[name] = Broker(name, self.epochs, self)

    def is_lost(self) -> bool:
        return self.rough and self.random.random() < 0.2

    # The data cluster

    def run(self) -> None:
        """A run of the channel: some subscriptions have new results."""
        with transaction(self.sql):
            rows = self.sql.execute("SELECT id FROM subscriptions").fetchall()
            numbers = [n for (n,) in rows if self.random.random() < 0.7]
            for number in numbers:
                self.sql.execute(
                    "UPDATE subscriptions SET last = last + ? WHERE id = ?",
                    (self.random.randint(1, 5), number),
                )
        for name, found in brokers_of(self.sql, numbers).items():
            if not self.is_lost():
                self.post(("notify", name), partial(self.notify, name, found))

    def notify(self, name: str, numbers: list[int]) -> None:
        self.brokers[name].handler.channels.logs.mark_new(numbers)
        self.brokers[name].pull()

    def last(self, number: int) -> int | None:
        found = self.sql.execute(
            "SELECT last FROM subscriptions WHERE id = ?", (number,)
        ).fetchone()
        return None if found is None else int(found[0])

    def results(self, request: PullRequest) -> PullAnswer:
        check_epoch(self.sql, request.broker, request.epoch)
        pulled, gone = [], []
        for pull in request.pulls:
            last = self.last(pull.subscription)
            if last is None:
                gone.append(pull.subscription)
                continue
            after = max(pull.after, min(self.kept_after, last))
            count = min(MOST_PULLED, max(0, last - after))
            seqs = range(after + 1, after + 1 + count)
            found = tuple(Result(0.0, msgspec.Raw(b"%d" % seq)) for seq in seqs)
            pulled.append(ResultBatch(pull.subscription, after, found, last))
        return PullAnswer(tuple(pulled), tuple(gone))


class Broker:
    """The real core, and requests to the data cluster as its shell makes them: what
    changes who is served where one after the other, pulls beside."""

    def __init__(self, name: str, epoch: int, world: World) -> None:
        self.name, self.epoch, self.world = name, epoch, world
        self.router = MessageRouter(
            name,
            peers=FakePeers(),
            steps=FakeSteps(),
            feed=no_feed,
            frame_text=framed,
            clock=lambda: 0.0,
            call_soon=lambda work: world.post((name, "flushes"), work),
        )
        self.handler = SessionHandler(self.router, no_feed)
        self.created = self.is_talking = self.is_pulling = False

    def is_alive(self) -> bool:
        return self.world.brokers[self.name] is self

    # What the core commands

    def handle(self, session: Session, frame: FromClient) -> None:
        self.carry_out(self.handler.handle(session, frame, 0.0))

    def close(self, session: Session) -> None:
        self.carry_out(self.handler.close(session))

    def carry_out(self, commands: Commands) -> None:
        for command in commands:
            assert command == AskDataCluster(), "a channel needs no route"
            self.attach()

    def attach(self) -> None:
        self.world.post((self.name, "attach"), self.exchange)

    # What it says to the data cluster

    def exchange(self, *, says_all: bool = False) -> None:
        if self.is_talking or not self.is_alive():
            return
        channels = self.handler.channels
        if not self.created:
            creation = BrokerCreation(self.name, self.epoch, "")
            self._say(
                lambda: create_broker(self.world.sql, creation, 0.0), self._create
            )
        elif ended := channels.ended():
            leaving = UnsubscribeRequest(self.name, self.epoch, ended)
            self._say(
                lambda: unsubscribe(self.world.sql, leaving),
                lambda _: channels.mark_sent(ended=ended),
            )
        elif channels.offline() or channels.seen():
            offline, seen = channels.offline(), channels.seen()
            news = AcknowledgeRequest(self.name, self.epoch, seen, offline)
            self._say(
                lambda: acknowledge(self.world.sql, news, 0.0),
                lambda _: channels.mark_sent(offline=offline, seen=seen),
            )
        elif wanted := channels.wanted(2):
            self._subscribe(wanted)
        elif says_all and (serving := channels.logs.serving()):
            news = AcknowledgeRequest(self.name, self.epoch, (), (), serving)
            self._say(lambda: acknowledge(self.world.sql, news, 0.0), lambda _: None)

    def _subscribe(self, wanted: tuple[Interest, ...]) -> None:
        request = SubscribeRequest(self.name, self.epoch, wanted)

        def carry_out() -> SubscribeAnswer:
            return subscribe(self.world.sql, request, lambda channel, texts: ())

        def answered(answer: SubscribeAnswer) -> None:
            self.handler.channels.take_answer(wanted, answer)
            self.pull()

        self._say(carry_out, answered)

    def _create(self, _: None) -> None:
        self.created = True

    def _say(self, carry_out: Callable[[], T], answered: Callable[[T], None]) -> None:
        """A request, or its answer, may be lost: then it is made again."""
        self.is_talking = True

        def arrive() -> None:
            result: list[T] = []
            if not self.world.is_lost() and self.is_alive():
                with transaction(self.world.sql):
                    if self.created:
                        check_epoch(self.world.sql, self.name, self.epoch)
                    result.append(carry_out())
            if self.world.is_lost():
                result.clear()
            self.world.post((self.name, "answers"), partial(come_back, result))

        def come_back(result: list[T]) -> None:
            self.is_talking = False
            if result and self.is_alive():
                answered(result[0])
            self.attach()

        self.world.post((self.name, "requests"), arrive)

    def pull(self, *, all_of_them: bool = False) -> None:
        pulls = self.handler.channels.logs.pulls(all_of_them=all_of_them)
        if self.is_pulling or not (pulls and self.created and self.is_alive()):
            return
        self.is_pulling = True
        request = PullRequest(self.name, self.epoch, pulls)
        self.world.post((self.name, "pulls"), partial(self._pull, request))

    def _pull(self, request: PullRequest) -> None:
        try:
            answer = None if self.world.is_lost() else self.world.results(request)
        except BrokerwiseError:
            assert not self.is_alive()
            return
        self.world.post((self.name, "pulled"), partial(self._pulled, request, answer))

    def _pulled(self, request: PullRequest, answer: PullAnswer | None) -> None:
        self.is_pulling = False
        if answer is not None and self.is_alive():
            asked: frozenset[Pull] = frozenset(request.pulls)
            self.handler.channels.logs.take_results(asked, answer)
        self.pull()


class Line:
    """From a broker to one of its sessions."""

    def __init__(
        self,
        lane: object,
        world: World,
        hear: Callable[..., None],
        closed: Callable[[], None],
    ) -> None:
        self._lane, self._world = lane, world
        self._hear, self._closed = hear, closed

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
        self._world.post(self._lane, self._closed)


@dataclass(eq=False)
class Client:
    """One life of a user's client: the real `StreamMerger`. `start` is where each topic
    began, `seen` what came since; it deals with everything at once."""

    user: str
    world: World
    following: StreamMerger = field(default_factory=StreamMerger)
    streams: dict[int, tuple[Broker, Session]] = field(default_factory=dict)
    start: dict[str, tuple[int, int]] = field(default_factory=dict)
    seen: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    gaps: list[GapTold] = field(default_factory=list)
    wanted: set[str] = field(default_factory=set)
    positions: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    number: int = 0
    heard: int = 0

    def attach(self, broker: str) -> None:
        """Subscribe to all that is wanted over a new connection."""
        self.number += 1
        stream, target = self.number, self.world.brokers[broker]
        lane = (broker, self.user, id(self), stream)
        line = Line(
            lane, self.world, partial(self.hear, stream), partial(self.closed, stream)
        )
        session = Session(line, self.user, self.user, 0.0)
        self.streams[stream] = (target, session)
        topics = tuple(sorted(self.wanted))
        cursors = tuple(self.following.cursors(topics))
        self.say(stream, Subscribe(stream, topics, {}, cursors))

    def say(self, stream: int, frame: FromClient) -> None:
        broker, session = self.streams[stream]
        heard = decode_from_client(encode(frame))

        def arrive() -> None:
            if broker.is_alive() and not session.closing:
                broker.handle(session, heard)

        self.world.post((self.user, id(self), stream), arrive)

    def cut(self, stream: int) -> None:
        """A connection has ended; the broker notices when it does."""
        broker, session = self.streams.pop(stream)
        self.note(self.following.end(stream))
        self.world.post((self.user, id(self), stream), lambda: broker.close(session))

    def closed(self, stream: int) -> None:
        """The broker has hung up: another connection of ours took its place, perhaps
        one that we have given up since."""
        if stream in self.streams:
            self.cut(stream)
            if not self.streams:
                self.attach(self.world.random.choice(BROKERS))

    def hear(self, stream: int, frame: FromBroker) -> None:
        if stream not in self.streams:
            return
        match frame:
            case Message():
                assert msgspec.json.decode(frame.data) == frame.seq
                epoch, at = self.positions[stream, frame.topic]
                expected = max(at, self.world.kept_after) + 1
                assert (frame.epoch, frame.seq) == (epoch, expected)
                self.positions[stream, frame.topic] = (frame.epoch, frame.seq)
                self.note(
                    self.following.receive(
                        stream,
                        Received(frame.topic, frame.source, frame.epoch, frame.seq),
                    )
                )
                self.heard += 1
                cursor = self.following.position(frame.topic, SOURCE)
                if cursor is not None and self.world.random.random() < 0.5:
                    self.say(stream, Ack(0, ((frame.topic, SOURCE, *cursor),)))
            case Subscribed():
                self.subscribed(stream, frame)
        for old in [s for s in self.streams if s < max(self.streams)]:
            if not self.following.topics_of(old) and self.following.topics_of(stream):
                self.leave(old)

    def subscribed(self, stream: int, frame: Subscribed) -> None:
        topics = [topic for topic in frame.topics if topic in self.wanted]
        for topic, _, epoch, seq in frame.cursors:
            self.positions[stream, topic] = (epoch, seq)
            if topic in topics and not self.following.knows(topic):
                self.start[topic] = (epoch, seq)
                self.seen[topic] = []
        self.note(self.following.serve(stream, topics, frame.cursors))

    def unsubscribe(self, topic: str) -> None:
        self.wanted.discard(topic)
        self.following.forget([topic])
        self.start.pop(topic, None)
        for stream in self.streams:
            self.say(stream, Unsubscribe(0, (topic,)))

    def leave(self, stream: int) -> None:
        """Another connection serves everything that this one did."""
        _, session = self.streams[stream]
        self.say(stream, Unsubscribe(0, tuple(sorted(session.topics)), True))
        self.cut(stream)

    def note(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, GapTold):
                self.gaps.append(event)
            elif event.topic in self.start:
                self.seen[event.topic].append((event.epoch, event.seq))

    def check(self) -> None:
        """Everything since the start came once and in order, and nothing is left."""
        assert self.gaps == []
        assert set(self.start) == self.wanted
        for topic, (epoch, start) in self.start.items():
            last = self.world.last(epoch)
            assert last is not None
            expected = [(epoch, seq) for seq in range(start + 1, last + 1)]
            assert self.seen[topic] == expected
        self.check_known()

    def check_known(self) -> None:
        """The data cluster knows what this user has, and at which broker: who is
        offline in its eyes is not notified, and forgotten after a while."""
        rows = self.world.sql.execute(
            "SELECT topic, broker FROM frontends JOIN subscriptions"
            " ON id = subscription WHERE user = ? AND broker != ''",
            (self.user,),
        )
        brokers = [
            {b.name for s, (b, _) in self.streams.items() if t in self.topics_at(s)}
            for t in sorted(self.wanted)
        ]
        assert dict(rows) == {
            topic: next(iter(found))
            for topic, found in zip(sorted(self.wanted), brokers, strict=True)
        }

    def topics_at(self, stream: int) -> set[str]:
        return self.following.topics_of(stream)


def a_world(seed: int) -> tuple[World, dict[str, Client]]:
    world = World(seed)
    clients = {user: Client(user, world) for user in USERS}
    for client in clients.values():
        client.wanted = {*world.random.sample(TOPICS, world.random.randint(1, 2))}
        client.attach(world.random.choice(BROKERS))
    world.come_to_rest()
    return world, clients


def move(world: World, client: Client) -> None:
    """The new connection comes before the old one goes."""
    client.attach(world.random.choice(BROKERS))


def lose_connection(world: World, client: Client) -> None:
    for stream in list(client.streams):
        client.cut(stream)
    client.attach(world.random.choice(BROKERS))


def change_mind(world: World, client: Client) -> None:
    topic = world.random.choice(TOPICS)
    if topic in client.wanted and len(client.wanted) > 1:
        client.unsubscribe(topic)
    elif topic not in client.wanted:
        client.wanted.add(topic)
        lose_connection(world, client)


@settings(max_examples=examples(60))
@given(seed=st.integers(0, 2**32), moments=st.integers(5, 60))
@example(seed=7, moments=60)
def test_whatever_happens_every_result_comes_once_and_in_order(
    seed: int, moments: int
) -> None:
    world, clients = a_world(seed)
    chance = world.random
    world.rough = True
    for _ in range(moments):
        client = clients[chance.choice(USERS)]
        match chance.randrange(8):
            case 0 | 1 | 2:
                world.run()
            case 3 | 4:
                move(world, client)
            case 5:
                lose_connection(world, client)
            case 6:
                change_mind(world, client)
            case 7:
                die(world, clients, chance.choice(BROKERS))
        for _ in range(chance.randrange(25)):
            world.step()
        if chance.random() < 0.2:
            world.brokers[chance.choice(BROKERS)].pull(all_of_them=True)
    world.come_to_rest()
    world.run()
    world.come_to_rest()
    for client in clients.values():
        client.check()


def die(world: World, clients: dict[str, Client], name: str) -> None:
    """kill -9 of a broker: its sessions are gone, another starts in its place."""
    dead = world.brokers[name]
    world.start(name)
    for client in clients.values():
        hit = [s for s, (broker, _) in client.streams.items() if broker is dead]
        for stream in hit:
            client.streams.pop(stream)
            client.note(client.following.end(stream))
        if hit and not any(map(client.following.topics_of, client.streams)):
            client.attach(world.random.choice(BROKERS))


@settings(max_examples=examples(40))
@given(seed=st.integers(0, 2**32), rounds=st.integers(1, 6))
def test_a_client_that_starts_again_goes_on_where_it_last_acknowledged(
    seed: int, rounds: int
) -> None:
    world, clients = a_world(seed)
    chance = world.random
    for _ in range(rounds):
        world.rough = True
        before = clients[chance.choice(USERS)]
        world.run()
        for _ in range(chance.randrange(60)):
            world.step()
        for stream in list(before.streams):
            before.cut(stream)
        world.come_to_rest()
        world.run()
        after = Client(before.user, world, wanted=set(before.wanted))
        clients[before.user] = after
        after.attach(chance.choice(BROKERS))
        world.come_to_rest()
        after.check()
        for topic, (epoch, start) in after.start.items():
            if topic in before.start:
                ended = before.seen[topic][-1:] or [before.start[topic]]
                assert (epoch, start) <= ended[0], "what came in between is lost"
                assert (epoch, start) >= before.start[topic]


def test_results_that_are_not_kept_any_more_are_a_gap_and_those_after_come() -> None:
    world, clients = a_world(3)
    ann = clients["ann"]
    topic = sorted(ann.wanted)[0]
    for stream in list(ann.streams):
        ann.cut(stream)
    world.come_to_rest()
    number = ann.start[topic][0]
    with transaction(world.sql):
        world.sql.execute("UPDATE subscriptions SET last = 9 WHERE id = ?", (number,))
    world.kept_after = 4
    ann.attach("b1")
    world.come_to_rest()
    assert ann.gaps == [GapTold(topic, SOURCE, 4)]
    assert ann.seen[topic] == [(number, seq) for seq in range(5, 10)]
