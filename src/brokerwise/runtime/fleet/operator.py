"""The coordinator's answers to an operator."""

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.net.errors import RefusedError
from brokerwise.runtime.net.http import HttpClient
from brokerwise.runtime.net.tls import client_tls
from brokerwise.runtime.protocol.limits import REQUEST_SECONDS

T = TypeVar("T")


class OperationRefusedError(BrokerwiseError):
    """The coordinator will not do it, and says why."""

    def __init__(self, status: int, text: str) -> None:
        self.status, self.text = status, text
        super().__init__(text)


class NoSuchThingError(OperationRefusedError, InputError):
    """What was named is not there, or cannot be a name."""


@dataclass(frozen=True)
class BrokerStatus:
    """`state` is up, draining, drained, lost, or stopped (as it was told), `since`
    when in seconds since 1970;
    `capacity` is messages a period, None if nobody said. Counts are since the process
    started."""

    broker: str
    url: str
    state: str
    epoch: int
    sessions: int
    topics: int
    received: int
    delivered: int
    load_per_second: float
    capacity: int | None = None
    pid: int = 0
    since: float = 0.0

    @property
    def gone(self) -> bool:
        """It does not run, as far as the coordinator knows."""
        return self.state in ("lost", "stopped")


@dataclass(frozen=True)
class FleetStatus:
    """`moves` counts them by state; capacities are messages in `period_seconds`, 0 if
    nobody said; `balancer` is what the balancer is at."""

    brokers: tuple[BrokerStatus, ...]
    moves: dict[str, int]
    kind: str = ""
    plan: str = ""
    digest: str = ""
    placement: str = ""
    period_seconds: int = 0
    balancer: str = ""

    def broker(self, name: str) -> BrokerStatus | None:
        return next((b for b in self.brokers if b.broker == name), None)

    @property
    def moves_under_way(self) -> int:
        return sum(self.moves.get(state, 0) for state in ("requested", "accepted"))


@dataclass(frozen=True)
class MoveStatus:
    """`state` is requested, accepted, done, declined or failed."""

    id: int
    user: str
    state: str
    reason: str = ""

    @property
    def is_over(self) -> bool:
        return self.state not in ("requested", "accepted")


@dataclass(frozen=True)
class _Drained:
    moves: int


@dataclass(frozen=True)
class _Registered:
    token: str


class Operator:
    """Asks the coordinator of a fleet.

    Every call raises UnreachableError if there is no answer in time,
    OperationRefusedError for one that is an error. Cancelling a call that changes
    something leaves it unknown whether it did; all may be repeated. In `async with` it
    keeps its connection for the next call.
    """

    def __init__(self, fleet: FleetFile) -> None:
        self._fleet = fleet
        self._ssl = client_tls(fleet.coordinator, fleet.authority)
        self._http = HttpClient(repeatable=True)

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.close()

    async def status(self) -> FleetStatus:
        return await self.ask("GET", "/status", None, FleetStatus)

    async def drain(self, broker: str, then: str = "stay") -> int:
        """Empty a broker; `then` is stay, stop or restart. The number of moves."""
        body = {"broker": broker, "then": then}
        return (await self.ask("POST", "/drain", body, _Drained)).moves

    async def activate(self, broker: str) -> None:
        await self.ask("POST", "/activate", {"broker": broker}, dict[str, Any])

    async def move(self, user: str, source: str, target: str) -> int:
        """Ask for a session to be moved; the number of the move."""
        body = {"user": user, "from": source, "to": target}
        return (await self.ask("POST", "/moves", body, MoveStatus)).id

    async def move_status(self, move: int) -> "MoveStatus":
        return await self.ask("GET", f"/moves/{move}", None, MoveStatus)

    async def register(
        self, user: str, place: tuple[float, float] | None = None
    ) -> str:
        """The token of a user, new or not; `place` is where it is, for `nearest`."""
        x, y = place or (None, None)
        body = {"user": user, "x": x, "y": y}
        answer = await self.ask("POST", "/registeruser", body, _Registered)
        return answer.token

    async def ask(
        self,
        method: str,
        path: str,
        body: object,
        kind: type[T],
        seconds: float = REQUEST_SECONDS,
    ) -> T:
        """Any call of the coordinator's API."""
        try:
            return await self._http.ask(
                self._fleet.coordinator + path,
                body,
                kind,
                method=method,
                token=self._fleet.operator_token,
                seconds=seconds,
                ssl=self._ssl,
            )
        except RefusedError as error:
            wrong_name = error.status in (404, 422)
            refused = NoSuchThingError if wrong_name else OperationRefusedError
            raise refused(error.status, error.text) from error
