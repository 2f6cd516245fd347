"""The fleet that a replay goes through: is it the right one, and what has it seen?"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.fleet.operator import FleetStatus, Operator
from brokerwise.runtime.net.http import ask
from brokerwise.runtime.net.tls import client_tls
from brokerwise.runtime.protocol.control import Route
from brokerwise.runtime.protocol.seed import Seed
from brokerwise.runtime.replay.counters import LoadReport

ROUTES_PER_REQUEST = 5_000
REQUEST_SECONDS = 10.0  # a broker may be busy with thousands of sessions


class RestartedBrokerError(BrokerwiseError):
    """A broker has started again meanwhile, and counts from zero."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        super().__init__(
            f"{broker} has started again during the replay: what it counted is gone"
        )


@dataclass(frozen=True)
class _Routes:
    routes: tuple[Route, ...] = ()


class Observer:
    """Asks coordinator and brokers of a fleet. Calls raise UnreachableError and
    RefusedError; cancelling one loses nothing."""

    def __init__(self, fleet: FleetFile) -> None:
        self._fleet = fleet
        self._tls = client_tls(fleet.coordinator, fleet.authority)

    async def brokers(self, seed: Seed) -> dict[str, str]:
        """URLs of the brokers; InputError unless all of the plan's are up."""
        status = await Operator(self._fleet).status()
        refuse_other_fleet(seed, status)
        return {b.broker: b.url for b in status.brokers if b.state == "up"}

    async def routes(self, topics: Sequence[str]) -> dict[str, Route]:
        found: dict[str, Route] = {}
        for start in range(0, len(topics), ROUTES_PER_REQUEST):
            answer = await ask(
                f"{self._fleet.coordinator}/routes",
                {"topics": topics[start : start + ROUTES_PER_REQUEST]},
                _Routes,
                token=self._fleet.operator_token,
                seconds=REQUEST_SECONDS,
                ssl=self._tls,
            )
            found |= {route.topic: route for route in answer.routes}
        return found

    async def loads(self, brokers: Mapping[str, str]) -> list[LoadReport]:
        """The counters of these brokers, given their URLs."""
        return await asyncio.gather(*(self._load(url) for url in brokers.values()))

    async def _load(self, url: str) -> LoadReport:
        return await ask(
            f"{url.replace('ws', 'http', 1)}/load",
            None,
            LoadReport,
            method="GET",
            token=self._fleet.broker_token,
            seconds=REQUEST_SECONDS,
            ssl=self._tls,
        )


def refuse_other_fleet(seed: Seed, status: FleetStatus) -> None:
    """Refuse a fleet that does not run this plan, or not with all its brokers."""
    if status.digest != seed.digest:
        raise InputError(
            _other_plan(seed.plan, status.plan),
            hint=f"Run this one: brokerwise up --plan {seed.plan}",
        )
    states = {b.broker: b.state for b in status.brokers}
    missing = [b.name for b in seed.brokers if states.get(b.name) != "up"]
    if missing:
        first = f"{missing[0]} is {states.get(missing[0], 'missing')}"
        others = f", and {len(missing) - 1:,} more" if missing[1:] else ""
        raise InputError(
            f"not all brokers of the plan are up: {first}{others}",
            hint="See them with: brokerwise status",
        )


def _other_plan(wanted: str, found: str) -> str:
    if not found:
        return f"the fleet runs no plan, expected {wanted}"
    if found == wanted:
        return f"the fleet runs the plan that {wanted} was before it changed"
    return f"the fleet runs the plan {found}, expected {wanted}"


def refuse_restarted(before: Sequence[LoadReport], after: Sequence[LoadReport]) -> None:
    epochs = {report.broker: report.epoch for report in before}
    for report in after:
        if report.epoch != epochs[report.broker]:
            raise RestartedBrokerError(report.broker)
