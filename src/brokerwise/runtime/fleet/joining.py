"""One more broker for a fleet that runs, as a process of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from brokerwise.model.errors import InputError
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.fleet.keeper import Keeper, Tell
from brokerwise.runtime.fleet.operator import Operator
from brokerwise.runtime.fleet.programs import Programs
from brokerwise.runtime.fleet.settings import Settings, Tls
from brokerwise.runtime.fleet.supervisor import kept
from brokerwise.runtime.naming import next_broker, refusal
from brokerwise.runtime.tokens import Keys

_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class JoinedBroker:
    name: str
    url: str
    pid: int
    keeper: Keeper


@asynccontextmanager
async def joined_broker(
    fleet: FleetFile,
    state: Path,
    name: str = "",
    *,
    settings: Settings | None = None,
    tell: Tell = lambda line: None,
) -> AsyncIterator[JoinedBroker]:
    """A broker that has registered with the fleet; it ends with the context.

    Without a name it gets the next free one of b0, b1, ... One that a rolling
    restart ends comes back. Whoever leaves should `drain` it first.
    """
    known = {b.broker: b for b in (await Operator(fleet).status()).brokers}
    name = name or next_broker(known)
    wrong = refusal(name)
    if wrong:
        raise InputError(f"--name: {wrong}")
    if name in known and not known[name].gone:
        raise InputError(
            f"broker {name!r} is in the fleet already, and {known[name].state}",
            hint="Leave --name out, and a free one is taken.",
        )
    keys = Keys.of_secret(bytes.fromhex(fleet.secret))
    programs = Programs(state, keys, settings or joining_settings(fleet))
    broker = programs.broker(name, fleet.coordinator, fleet.data_cluster)
    keeper = programs.keeper(broker, tell)
    async with kept([keeper]):
        ready = await keeper.came_up()
        yield JoinedBroker(name, ready.url, ready.pid, keeper)


def joining_settings(fleet: FleetFile, host: str = "") -> Settings:
    tls = Tls(fleet.certificate, fleet.private_key, fleet.authority)
    return Settings(host=host or fleet.host, tls=tls)


async def fleet_over(fleet: FleetFile) -> None:
    """Returns when the process that keeps the fleet has gone."""
    while fleet.running:
        await asyncio.sleep(_POLL_SECONDS)
