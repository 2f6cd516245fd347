"""One more broker for a fleet that runs, as a process of its own."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from brokerwise.model.errors import InputError
from brokerwise.runtime.fleet.children import Keeper
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.fleet.operator import OperationRefusedError, Operator
from brokerwise.runtime.fleet.settings import Settings, Tls
from brokerwise.runtime.fleet.supervisor import Programs, all_running
from brokerwise.runtime.net.errors import UnreachableError
from brokerwise.runtime.process.launch import Ready
from brokerwise.runtime.protocol.names import next_broker, refusal
from brokerwise.runtime.protocol.tokens import Keys

SILENT_SECONDS = 60.0  # a coordinator that was killed is back long before that
_POLL_SECONDS = 0.2
_ASK_SECONDS = 2.0

log = logging.getLogger(__name__)


@asynccontextmanager
async def joined_broker(
    fleet: FleetFile, state: Path, settings: Settings, name: str = ""
) -> AsyncIterator[tuple[Ready, Keeper]]:
    """A broker that has registered with the fleet; it ends with the context.

    Without a name it gets the next free one of b0, b1, ... One that a rolling
    restart ends comes back. Drain it before it leaves.
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
    programs = Programs(state, keys, settings)
    broker = programs.broker(name, fleet.coordinator, fleet.data_cluster)
    keeper = programs.keeper(broker)
    async with all_running([keeper]):
        ready = await keeper.came_up()
        log.info("broker %r has joined the fleet at %s", name, fleet.coordinator)
        try:
            yield ready, keeper
        finally:
            log.info("broker %r leaves the fleet at %s", name, fleet.coordinator)


def joining_settings(fleet: FleetFile, host: str = "") -> Settings:
    """How a broker of this machine is run; InputError if it cannot be, there or with
    the certificate that it has."""
    if fleet.is_elsewhere and not host:
        raise InputError(
            f"--host: missing: {fleet.host} is an address of another machine, which "
            "keeps the fleet",
            hint="Give the one of this machine at which brokers and users reach it.",
        )
    tls = Tls(fleet.certificate, fleet.private_key, fleet.authority)
    tls.check(host or fleet.host)
    return Settings(host=host or fleet.host, tls=tls)


async def fleet_ended(fleet: FleetFile) -> None:
    """Returns when the process that keeps the fleet has gone; if another machine
    keeps it, when the coordinator has not answered for SILENT_SECONDS, or refuses
    us."""
    if fleet.is_elsewhere:
        await _coordinator_over(fleet)
        return
    while fleet.running:
        await asyncio.sleep(_POLL_SECONDS)


async def _coordinator_over(fleet: FleetFile) -> None:
    operator, loop = Operator(fleet), asyncio.get_running_loop()
    heard = loop.time()
    while loop.time() - heard < SILENT_SECONDS:
        try:
            await operator.status()
        except UnreachableError:
            pass
        except OperationRefusedError:  # another fleet is there now
            return
        else:
            heard = loop.time()
        await asyncio.sleep(_ASK_SECONDS)
