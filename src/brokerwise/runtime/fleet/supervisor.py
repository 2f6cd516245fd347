"""A whole fleet: coordinator, data cluster, brokers, kept running until the end.

async with running_fleet(seed, state=Path("out/fleet")) as fleet:
    ...  # fleet.coordinator, fleet.operator_token, fleet.pids
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from brokerwise.runtime.fleet.files import (
    FleetFile,
    kept_secret,
    remove_fleet,
    write_fleet,
)
from brokerwise.runtime.fleet.growing import growing
from brokerwise.runtime.fleet.keeper import Keeper, Tell
from brokerwise.runtime.fleet.lock import holding
from brokerwise.runtime.fleet.processes import ProcessName, machine
from brokerwise.runtime.fleet.programs import Programs
from brokerwise.runtime.fleet.settings import Settings
from brokerwise.runtime.protocol.seed import Seed
from brokerwise.runtime.protocol.tokens import Keys, Role


@dataclass(frozen=True)
class _Kept:
    """The processes of a fleet."""

    coordinator: Keeper
    data_cluster: Keeper | None
    brokers: list[Keeper]


class RunningFleet:
    """A fleet that is up. Processes that die are started again by themselves."""

    def __init__(self, state: Path, file: FleetFile, kept: _Kept) -> None:
        self.state, self.file = state, file
        self._kept = kept

    @property
    def coordinator(self) -> str:
        """The coordinator's URL."""
        return self.file.coordinator

    @property
    def data_cluster(self) -> str:
        """Its URL; empty without one."""
        return self.file.data_cluster

    @property
    def operator_token(self) -> str:
        return self.file.operator_token

    @property
    def coordinator_pid(self) -> int | None:
        """None while it is being started again."""
        return _pid(self._kept.coordinator)

    @property
    def data_cluster_pid(self) -> int | None:
        """None while it is being started again, and without one."""
        return _pid(self._kept.data_cluster)

    @property
    def pids(self) -> dict[str, int]:
        """Of the brokers that are up now, by name."""
        brokers = self._kept.brokers
        return {k.name: k.child.pid for k in brokers if k.child is not None}


def _pid(keeper: Keeper | None) -> int | None:
    return None if keeper is None or keeper.child is None else keeper.child.pid


@asynccontextmanager
async def running_fleet(
    seed: Seed,
    *,
    state: Path,
    settings: Settings | None = None,
    tell: Tell = lambda line: None,
) -> AsyncIterator[RunningFleet]:
    """A fleet that begins with `seed`, ready: every broker has registered.

    Replaces what an earlier fleet left in `state`, but for its secret, with which
    tokens are signed, and the data of a data cluster; FleetRunsError if one runs
    there, InputError if the secret cannot be used. When the context is left, or
    start-up fails or is cancelled, nothing is left running. `tell` is given a line
    for whatever happens to a process meanwhile.
    """
    settings = settings or Settings()
    async with holding(state) as lock:
        secret = kept_secret(state)
        run = secrets.token_hex(8)
        programs = Programs(state, Keys.of_secret(secret), settings, run, (lock,))
        _prepare(state, seed)
        try:
            async with _up(seed, programs, tell) as kept_ones:
                file = await _fleet_file(kept_ones, secret, seed, programs)
                write_fleet(state, file)
                async with growing(file, programs, tell, kept_ones.brokers):
                    yield RunningFleet(state, file, kept_ones)
        finally:
            remove_fleet(state)


@asynccontextmanager
async def _up(seed: Seed, programs: Programs, tell: Tell) -> AsyncIterator[_Kept]:
    """Each is told where those before it are. Brokers end before the others do, so
    that they can say goodbye to them."""
    wanted = programs.settings.data_cluster
    first = [] if wanted is None else [programs.data_cluster(wanted)]
    async with kept([programs.keeper(one, tell) for one in first]) as data_clusters:
        data = [(await one.came_up()).url for one in data_clusters]
        second = [programs.keeper(programs.coordinator(*data), tell)]
        async with kept(second) as (coordinator,):
            urls = (await coordinator.came_up()).url, *data
            planned = [programs.broker(broker.name, *urls) for broker in seed.brokers]
            async with kept([programs.keeper(one, tell) for one in planned]) as brokers:
                yield _Kept(coordinator, next(iter(data_clusters), None), brokers)


@asynccontextmanager
async def kept(keepers: list[Keeper]) -> AsyncIterator[list[Keeper]]:
    """All of them running, once all are ready; ended, all at once, on the way out."""
    tasks = [asyncio.create_task(keeper.run()) for keeper in keepers]
    try:
        await _all_up(keepers)
        yield keepers
    finally:
        await _cancel(tasks)


async def _all_up(keepers: Iterable[Keeper]) -> None:
    """Raises the failure of the first that does not come up."""
    waiting = [asyncio.create_task(keeper.came_up()) for keeper in keepers]
    try:
        await asyncio.gather(*waiting)
    finally:
        await _cancel(waiting)


async def _cancel(tasks: Sequence["asyncio.Task[object]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _prepare(state: Path, seed: Seed) -> None:
    """Put away what an earlier fleet left, and write the state to begin with."""
    from brokerwise.runtime.coordinator.store import STATE_FILE, seed_store

    remove_fleet(state)
    for log in (state / "logs").glob("*.log"):
        if log.stem != "up":  # our own, if we were detached
            log.unlink()
    seed_store(state / STATE_FILE, seed)


async def _fleet_file(
    fleet: _Kept, secret: bytes, seed: Seed, programs: Programs
) -> FleetFile:
    keys, settings = programs.keys, programs.settings
    us = ProcessName.ours()
    file = FleetFile(
        coordinator=(await fleet.coordinator.came_up()).url,
        pid=us.pid,
        started=us.started,
        secret=secret.hex(),
        operator_token=keys.token(Role.OPERATOR, "operator"),
        broker_token=keys.token(Role.BROKER, "operator"),
        host=settings.host,
        authority=settings.tls.authority,
        certificate=settings.tls.certificate,
        private_key=settings.tls.private_key,
        plan=seed.plan,
        kind=seed.kind,
        machine=machine(),
    )
    if fleet.data_cluster is None or settings.data_cluster is None:
        return file
    url = (await fleet.data_cluster.came_up()).url
    data = settings.data_cluster.place(programs.state)
    return replace(file, data_cluster=url, data=str(data))
