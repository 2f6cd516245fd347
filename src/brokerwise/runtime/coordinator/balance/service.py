"""The balancer of a running fleet: operators ask it, or it looks by itself.

It asks brokers for their loads, plans in a thread and stores what was decided. All
decisions are in the stored state; what is only in memory can be rebuilt from it.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import asdict, replace

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.balancing.balancer import BUDGET_SECONDS
from brokerwise.runtime.balancing.events import Event, MoveEnded, Paused, Resumed
from brokerwise.runtime.coordinator.balance import execution
from brokerwise.runtime.coordinator.balance.loads import (
    FleetLoads,
    Rates,
    ask_brokers,
    fleet_loads,
    read_stored_fleet,
    refuse_differing,
)
from brokerwise.runtime.coordinator.balance.options import (
    BalanceMode,
    balancer_settings,
    read_mode,
    write_mode,
)
from brokerwise.runtime.coordinator.balance.proposals import (
    DIGEST_SHOWN,
    DecisionRecord,
    ProposalRecord,
    find_decision,
    newest_decisions,
    read_decision,
    set_ended,
    store_note,
    store_proposal,
)
from brokerwise.runtime.coordinator.brokers import all_brokers
from brokerwise.runtime.coordinator.drains import refuse_fixed
from brokerwise.runtime.coordinator.moves import Move, ended_since, notice_ended
from brokerwise.runtime.coordinator.orders import BrokerClient
from brokerwise.runtime.coordinator.store import Store
from brokerwise.runtime.net.errors import ConflictError, UnavailableError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.balance import (
    AutomaticOptions,
    BalanceOptions,
    DecisionState,
    ModeRequest,
)
from brokerwise.runtime.protocol.fleet import MoveState

if TYPE_CHECKING:
    from brokerwise.runtime.coordinator.balance.planner import Advice, BalancePlanner

T = TypeVar("T")
FRESH_SECONDS = 1.0  # loads that are younger are not asked for again

log = logging.getLogger(__name__)


class BalanceService:
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
        self._status = ""
        self._lock = asyncio.Lock()
        self._mode_changed = asyncio.Event()
        self._planner: BalancePlanner | None = None
        self._is_recording = False
        self._events: list[Event] = []  # that the planner has not handled yet
        self._loads: FleetLoads | None = None
        self._unanswered = ""
        self._rates = Rates()

    @property
    def mode(self) -> BalanceMode:
        return read_mode(self._store.sql)

    @property
    def status(self) -> str:
        """What it found last in its automatic mode, in words."""
        known = self._planner.status if self._planner is not None else "no report yet"
        return self._status or known

    async def run(self) -> None:
        """Look by itself, in the automatic mode, until cancelled, which loses
        nothing."""
        while True:
            self._mode_changed.clear()
            mode = self.mode
            if mode.automatic and not mode.paused:
                await self._look(mode.options)
            try:
                async with asyncio.timeout(mode.options.every_seconds):
                    await self._mode_changed.wait()
            except TimeoutError:
                continue

    def advance(self, sql: Sql, now: float) -> None:
        """In a transaction: note which moves are over, and go on with decisions."""
        ended = notice_ended(sql, now)
        if ended:
            self._loads = None  # the sessions that moved are elsewhere now
            self.moves_ended(ended)
        if self._is_recording:
            self._events += [_move_ended(now, move) for move in ended]
        execution.advance(sql, now)

    async def recent_loads(self) -> FleetLoads:
        """At most a second old. Raises what `current_loads` does."""
        recent = self._loads
        if recent is not None and self.now() - recent.report.heard < FRESH_SECONDS:
            return recent
        return await self.current_loads()

    async def current_loads(self) -> FleetLoads:
        """Raises UnavailableError if a broker does not answer."""
        sql, began = self._store.sql, self.now()
        try:
            pages = await ask_brokers(
                self._telling, [b for b in all_brokers(sql) if b.serving]
            )
        except UnavailableError as error:
            if error.message != self._unanswered:  # or it would be said every second
                log.warning("cannot balance: %s", error.message)
            self._unanswered = error.message
            raise
        self._unanswered = ""
        stored = read_stored_fleet(sql)
        rates = self._rates.learn(pages, began)
        heard = max(began, self.now())
        self._loads = await asyncio.to_thread(
            fleet_loads, stored, pages, rates, began, heard
        )
        return self._loads

    async def plan(self, asked: BalanceOptions) -> DecisionRecord:
        """What would be done, stored so that it can be approved. Cancelling it may
        leave a proposal that nobody has seen."""
        options = AutomaticOptions(**asdict(asked))
        async with self._lock:
            loads = await self._balanceable_loads()
            advice = await self._think(
                lambda planner: planner.propose(loads, options), options
            )
            assert advice.proposal is not None
            with self._store.change() as sql:
                decision = store_proposal(
                    sql, advice.proposal, advice.reason, self.now()
                )
            _log_proposed(decision)
            return decision

    def approve(self, digest: str) -> tuple[DecisionRecord, bool]:
        """The decision, and True if it begins by this approval, False if it had begun
        before. Raises NotFoundError, or ConflictError if the fleet has changed."""
        try:
            with self._store.change() as sql:
                decision = find_decision(sql, digest)
                log.info("approval of decision %d", decision.number)
                begins = execution.begin(sql, decision, self.now())
                decision = read_decision(sql, decision.number)
        except ConflictError as refusal:
            log.warning("approval of %r refused: %s", digest, refusal.message)
            raise
        self.wake()
        return decision, begins

    def set_mode(self, asked: ModeRequest) -> None:
        given = asdict(asked)
        automatic = given.pop("automatic")
        options = AutomaticOptions(**given)
        with self._store.change() as sql:
            if automatic:
                refuse_fixed(sql)
            mode = replace(read_mode(sql), automatic=automatic, options=options)
            write_mode(sql, mode)
        log.info("balancer is %s, policy %r", mode.name, options.policy)
        self._status = ""
        self._mode_changed.set()

    def pause(self, paused: bool) -> None:
        now = self.now()
        with self._store.change() as sql:
            mode = read_mode(sql)
            if mode.paused == paused:
                return
            write_mode(sql, replace(mode, paused=paused))
            words = "paused: sessions stay where they are" if paused else "resumed"
            store_note(sql, mode.options.policy, words, now)
        log.info("balancer %s", words)
        if self._is_recording:
            self._events.append(Paused(now) if paused else Resumed(now))
        self._mode_changed.set()
        self.wake()

    async def _look(self, options: AutomaticOptions) -> None:
        """Once; what fails now may succeed the next time."""
        try:
            async with self._lock:
                loads = await self._balanceable_loads()
                found = await self._think(
                    lambda planner: planner.advise(loads, options), options
                )
                for advice in found:
                    self._follow(advice)
        except BrokerwiseError as error:
            self._note(options.policy, error.message)
        self.looks += 1

    def _follow(self, advice: "Advice") -> None:
        if advice.proposal is None:
            self._note(advice.policy, advice.reason)
        elif advice.orders:
            self._execute(advice, advice.proposal)
        else:
            self._suggest(advice.proposal, advice.reason)

    def _execute(self, advice: "Advice", proposal: ProposalRecord) -> None:
        assert self._planner is not None
        now = self.now()
        try:
            with self._store.change() as sql:
                if read_mode(sql).paused:
                    raise ConflictError("the balancer was paused")
                decision = store_proposal(
                    sql, proposal, advice.reason, now, automatic=True
                )
                _log_proposed(decision)
                execution.begin(sql, decision, now)
            self._status = advice.reason
            self.wake()
        except ConflictError as refusal:
            self._planner.cancel(advice, now)
            self._note(advice.policy, f"not done: {refusal.message}")

    def _suggest(self, proposal: ProposalRecord, reason: str) -> None:
        """Store a proposal that waits for approval; it is not made again while it
        could still be approved."""
        now, size = self.now(), (proposal.added, proposal.closing)
        outdated = []
        with self._store.change() as sql:
            for old in newest_decisions(sql, -1, DecisionState.PROPOSED):
                if old.proposal is None or not old.automatic:
                    continue
                is_same = (old.proposal.added, old.proposal.closing) == size
                if is_same and not execution.changes(sql, old.proposal):
                    return
                set_ended(
                    *(sql, old.number, DecisionState.OUTDATED),
                    *("the fleet has changed", now),
                )
                outdated.append(old.number)
            decision = store_proposal(sql, proposal, reason, now, automatic=True)
        for number in outdated:
            log.info("decision %d outdated: the fleet has changed", number)
        _log_proposed(decision)

    def _note(self, policy: str, reason: str) -> None:
        if reason == self._status:
            return
        self._status = reason
        log.info("balancer: %s", reason)
        with self._store.change() as sql:
            store_note(sql, policy, reason, self.now(), automatic=True)

    async def _balanceable_loads(self) -> FleetLoads:
        """Raises RefusalError if this fleet cannot be balanced, at all or now."""
        refuse_fixed(self._store.sql)
        loads = await self.current_loads()
        if not loads.stored.brokers:
            raise UnavailableError("no broker is up")
        refuse_differing(loads.stored.brokers)
        return loads

    async def _think(
        self, ask: "Callable[[BalancePlanner], T]", options: AutomaticOptions
    ) -> T:
        """Ask the planner, in a thread, once it has handled all events until now. A
        fault in it is logged, and the fleet goes on as it is."""
        events, self._events = self._events, []
        self._is_recording = True
        if self._planner is None:
            since = self.now() - max(options.window_seconds, BUDGET_SECONDS)
            events = [
                _move_ended(at, move)
                for at, move in ended_since(self._store.sql, since)
            ]

        def work() -> tuple["BalancePlanner", T]:
            from brokerwise.runtime.coordinator.balance.planner import BalancePlanner

            planner = self._planner or BalancePlanner(balancer_settings(options))
            planner.handle(events)
            return planner, ask(planner)

        try:
            self._planner, found = await asyncio.to_thread(work)
        except BrokerwiseError:
            raise
        except Exception as fault:  # the coordinator goes on, with a new planner
            log.exception("the balancer failed")
            self._planner = None
            raise UnavailableError(f"the balancer failed: {fault!r}") from fault
        return found


def _move_ended(at: float, move: Move) -> MoveEnded:
    done = move.state is MoveState.DONE
    return MoveEnded(at, (move.user, move.session), move.target if done else None)


def _log_proposed(decision: DecisionRecord) -> None:
    proposal = decision.proposal
    if proposal is None:
        log.info("nothing to balance (%s): %s", decision.policy, decision.reason)
        return
    log.info(
        "decision %d (%s, %s) proposed, digest %s, %d moves: %s",
        decision.number,
        decision.policy,
        "automatic" if decision.automatic else "asked for",
        decision.digest[:DIGEST_SHOWN],
        len(proposal.moves),
        decision.reason,
    )
