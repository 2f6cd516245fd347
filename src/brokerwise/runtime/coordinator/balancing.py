"""The balancer of a live fleet: it is asked, or looks by itself; and what comes of it.

Whatever was decided is in the stored state; what is only in memory can be had again.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.balancing.events import Event, MoveEnded, Paused, Resumed
from brokerwise.runtime.balancing.settings import BUDGET_SECONDS
from brokerwise.runtime.coordinator import carrying_out, decisions
from brokerwise.runtime.coordinator.brokers import all_brokers
from brokerwise.runtime.coordinator.decisions import Decision, DecisionState
from brokerwise.runtime.coordinator.drains import refuse_fixed
from brokerwise.runtime.coordinator.gathering import (
    Picture,
    ask_brokers,
    draw,
    read_known,
    refuse_differing,
)
from brokerwise.runtime.coordinator.moves import (
    Move,
    MoveState,
    ended_since,
    notice_ended,
)
from brokerwise.runtime.coordinator.orders import BrokerClient
from brokerwise.runtime.coordinator.rates import Rates
from brokerwise.runtime.coordinator.store import Store
from brokerwise.runtime.coordinator.wishes import Mode, Wishes, read_mode, write_mode
from brokerwise.runtime.net.refusals import ConflictError, UnavailableError
from brokerwise.runtime.process.state_file import Sql

if TYPE_CHECKING:
    from brokerwise.runtime.coordinator.thinking import Mind, Thought

T = TypeVar("T")
FRESH_SECONDS = 1.0  # loads that are younger are not asked for again

_log = logging.getLogger(__name__)


class Balancing:
    """`wall` gives seconds since 1970; `wake` lets what was decided begin at once;
    `moves_ended` is told of moves that are over; `looks` counts how often it looked by
    itself."""

    def __init__(
        self,
        store: Store,
        telling: BrokerClient,
        *,
        wall: Callable[[], float],
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._telling = telling
        self.now = wall
        self.wake = wake
        self.moves_ended: Callable[[list[Move]], None] = lambda moves: None
        self.looks = 0
        self._words = ""
        self._turn = asyncio.Lock()
        self._mode_changed = asyncio.Event()
        self._mind: Mind | None = None
        self._listening = False
        self._unheard: list[Event] = []
        self._seen: Picture | None = None
        self._rates = Rates()

    @property
    def mode(self) -> Mode:
        return read_mode(self._store.sql)

    @property
    def words(self) -> str:
        """What it thinks in its automatic mode."""
        known = self._mind.words if self._mind is not None else "no report yet"
        return self._words or known

    async def run(self) -> None:
        """Look by itself, if it shall, until cancelled, which loses nothing."""
        while True:
            self._mode_changed.clear()
            mode = self.mode
            if mode.automatic and not mode.paused:
                await self._look(mode.wishes)
            try:
                async with asyncio.timeout(mode.wishes.every_seconds):
                    await self._mode_changed.wait()
            except TimeoutError:
                continue

    def advance(self, sql: Sql, now: float) -> None:
        """In a transaction: see which moves are over, and go on with decisions."""
        ended = notice_ended(sql, now)
        if ended:
            self._seen = None  # it shows them where they were
            self.moves_ended(ended)
        if self._listening:
            self._unheard += [_ended(now, move) for move in ended]
        carrying_out.advance(sql, now)

    async def glance(self) -> Picture:
        """The fleet as it was a moment ago. Raises what `picture` does."""
        seen = self._seen
        if seen is not None and self.now() - seen.measured.heard < FRESH_SECONDS:
            return seen
        return await self.picture()

    async def picture(self) -> Picture:
        """The fleet as it is. Raises UnavailableError if a broker does not answer."""
        sql, began = self._store.sql, self.now()
        pages = await ask_brokers(
            self._telling, [b for b in all_brokers(sql) if b.serving]
        )
        known = read_known(sql)
        rates = self._rates.learn(pages, began)
        heard = max(began, self.now())
        self._seen = await asyncio.to_thread(draw, known, pages, rates, began, heard)
        return self._seen

    async def plan(self, wishes: Wishes) -> Decision:
        """What would be done, written down so that it can be approved. Cancelling it
        may leave a proposal that nobody has seen."""
        async with self._turn:
            picture = await self._fit_picture()
            thought = await self._thread(
                lambda mind: mind.propose(picture, wishes), wishes
            )
            assert thought.proposal is not None
            with self._store.change() as sql:
                return decisions.propose(
                    sql, thought.proposal, thought.reason, self.now()
                )

    def approve(self, digest: str) -> tuple[Decision, bool]:
        """The decision, and whether it begins by this; if not, it did before. Raises
        NotFoundError, or ConflictError if the fleet has changed."""
        with self._store.change() as sql:
            decision = decisions.by_digest(sql, digest)
            begins = carrying_out.begin(sql, decision, self.now())
            decision = decisions.the_decision(sql, decision.number)
        self.wake()
        return decision, begins

    def set_mode(self, automatic: bool, wishes: Wishes) -> None:
        with self._store.change() as sql:
            if automatic:
                refuse_fixed(sql)
            write_mode(sql, replace(read_mode(sql), automatic=automatic, wishes=wishes))
        self._words = ""
        self._mode_changed.set()

    def pause(self, paused: bool) -> None:
        now = self.now()
        with self._store.change() as sql:
            mode = read_mode(sql)
            if mode.paused == paused:
                return
            write_mode(sql, replace(mode, paused=paused))
            words = "paused: sessions stay where they are" if paused else "resumed"
            decisions.note(sql, mode.wishes.policy, words, now)
        if self._listening:
            self._unheard.append(Paused(now) if paused else Resumed(now))
        self._mode_changed.set()
        self.wake()

    async def _look(self, wishes: Wishes) -> None:
        """Once; what is wrong now may be right the next time."""
        try:
            async with self._turn:
                picture = await self._fit_picture()
                thoughts = await self._thread(
                    lambda mind: mind.judge(picture, wishes), wishes
                )
                for thought in thoughts:
                    self._take(thought)
        except BrokerwiseError as error:
            self._note(wishes.policy, error.message)
        self.looks += 1

    def _take(self, thought: "Thought") -> None:
        if thought.proposal is None:
            self._note(thought.policy, thought.reason)
        elif thought.orders:
            self._carry_out(thought)
        else:
            self._suggest(thought)

    def _carry_out(self, thought: "Thought") -> None:
        assert thought.proposal is not None and self._mind is not None
        now, proposal = self.now(), thought.proposal
        try:
            with self._store.change() as sql:
                if read_mode(sql).paused:
                    raise ConflictError("the balancer was paused")
                decision = decisions.propose(
                    sql, proposal, thought.reason, now, automatic=True
                )
                carrying_out.begin(sql, decision, now)
            self._words = thought.reason
            self.wake()
        except ConflictError as refusal:
            self._mind.refused(thought, now)
            self._note(thought.policy, f"not done: {refusal.message}")

    def _suggest(self, thought: "Thought") -> None:
        """A proposal that waits for approval; as long as it could be approved it is
        not made again."""
        assert thought.proposal is not None
        proposal, now = thought.proposal, self.now()
        with self._store.change() as sql:
            for old in decisions.newest_decisions(sql, -1, DecisionState.PROPOSED):
                if old.proposal is None or not old.automatic:
                    continue
                same = (old.proposal.added, old.proposal.closing) == (
                    *(proposal.added, proposal.closing),
                )
                if same and not carrying_out.changes(sql, old.proposal):
                    return
                state = DecisionState.OUTDATED
                decisions.set_ended(
                    sql, old.number, state, "the fleet has changed", now
                )
            decisions.propose(sql, proposal, thought.reason, now, automatic=True)

    def _note(self, policy: str, reason: str) -> None:
        if reason == self._words:
            return
        self._words = reason
        with self._store.change() as sql:
            decisions.note(sql, policy, reason, self.now(), automatic=True)

    async def _fit_picture(self) -> Picture:
        """One that can be balanced."""
        refuse_fixed(self._store.sql)
        picture = await self.picture()
        if not picture.known.brokers:
            raise UnavailableError("no broker is up")
        refuse_differing(picture.known.brokers)
        return picture

    async def _thread(self, think: "Callable[[Mind], T]", wishes: Wishes) -> T:
        """Think in a thread, with all that has happened until now in mind. A fault in
        it is told, and the fleet goes on as it is."""
        events, self._unheard = self._unheard, []
        self._listening = True
        if self._mind is None:
            since = self.now() - max(wishes.window_seconds, BUDGET_SECONDS)
            events = [
                _ended(at, move) for at, move in ended_since(self._store.sql, since)
            ]

        def work() -> tuple["Mind", T]:
            from brokerwise.runtime.coordinator.thinking import Mind

            mind = self._mind or Mind(wishes.settings())
            mind.hear(events)
            return mind, think(mind)

        try:
            self._mind, found = await asyncio.to_thread(work)
        except BrokerwiseError:
            raise
        except Exception as fault:  # the coordinator goes on, and thinks anew
            _log.exception("the balancer failed")
            self._mind = None
            raise UnavailableError(f"the balancer failed: {fault!r}") from fault
        return found


def _ended(at: float, move: Move) -> MoveEnded:
    done = move.state is MoveState.DONE
    return MoveEnded(at, (move.user, move.session), move.target if done else None)
