"""A whole fleet: coordinator, data cluster, brokers, kept running until the end.

async with running_fleet(seed, state=Path("out/fleet")) as fleet:
    ...  # fleet.coordinator, fleet.operator_token, fleet.pids

Brokers that an approved decision waits for are started too. `stop_fleet` ends a fleet
of another process.
"""

import asyncio
import logging
import secrets
import signal
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.fleet.children import (
    Keeper,
    Program,
    Restarts,
    Tell,
)
from brokerwise.runtime.fleet.files import (
    FleetFile,
    ProcessId,
    find_fleet,
    fleet_path,
    hold_lock,
    last_holder,
    log_path,
    machine,
    remove_fleet,
    remove_logs,
    state_secret,
    write_fleet,
    write_private,
)
from brokerwise.runtime.fleet.operator import BalanceOperator, Operator
from brokerwise.runtime.fleet.settings import DataClusterSettings, Settings
from brokerwise.runtime.process.launch import SEED_FILE, Launch
from brokerwise.runtime.process.logs import bounded_log
from brokerwise.runtime.protocol.names import SOURCE
from brokerwise.runtime.protocol.seed import Seed
from brokerwise.runtime.protocol.tokens import Keys, Role

STOP_SECONDS = 30.0  # brokers 5, data cluster 10, coordinator 5: then killed
_COORDINATOR = "coordinator"
_STOP_POLL_SECONDS = 0.05
_GROW_SECONDS = 1.0  # between questions which brokers are wanted

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Keepers:
    """Of the processes of a fleet."""

    coordinator: Keeper
    data_cluster: Keeper | None
    brokers: list[Keeper]


class RunningFleet:
    """A fleet that is up. Processes that die are started again by themselves."""

    def __init__(self, state: Path, file: FleetFile, keepers: _Keepers) -> None:
        self.state, self.file = state, file
        self._keepers = keepers

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
        return _pid(self._keepers.coordinator)

    @property
    def data_cluster_pid(self) -> int | None:
        """None while it is being started again, and without one."""
        return _pid(self._keepers.data_cluster)

    @property
    def pids(self) -> dict[str, int]:
        """Of the brokers that are up now, by name."""
        brokers = self._keepers.brokers
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
    for whatever happens to a process meanwhile, which is logged as well.
    """
    settings = settings or Settings()
    async with hold_lock(state) as lock, bounded_log(log_path(state, "up")):
        secret = state_secret(state)
        run = secrets.token_hex(8)
        programs = Programs(state, Keys.of_secret(secret), settings, run, (lock,))
        remove_fleet(state)
        remove_logs(state)
        write_private(state / SEED_FILE, msgspec.json.encode(seed))
        try:
            async with _up(seed, programs, tell) as keepers:
                file = await _fleet_file(keepers, secret, seed, programs)
                write_fleet(state, file)
                log.info(
                    "fleet of %s is up at %s, brokers: %d",
                    *(state, file.coordinator, len(keepers.brokers)),
                )
                async with _growing(file, programs, tell, keepers.brokers):
                    yield RunningFleet(state, file, keepers)
        finally:
            remove_fleet(state)
            log.info("fleet of %s is down", state)


@asynccontextmanager
async def _up(seed: Seed, programs: "Programs", tell: Tell) -> AsyncIterator[_Keepers]:
    """Each is told where those before it are. Brokers end before the others do, so
    that they can say goodbye to them."""
    wanted = programs.settings.data_cluster
    first = [] if wanted is None else [programs.data_cluster(wanted)]
    async with all_running([programs.keeper(one, tell) for one in first]) as data:
        urls = [(await one.came_up()).url for one in data]
        second = [programs.keeper(programs.coordinator(*urls), tell)]
        async with all_running(second) as (coordinator,):
            urls = [(await coordinator.came_up()).url, *urls]
            third = [programs.broker(broker.name, *urls) for broker in seed.brokers]
            keepers = [programs.keeper(one, tell) for one in third]
            async with all_running(keepers) as brokers:
                yield _Keepers(coordinator, next(iter(data), None), brokers)


@asynccontextmanager
async def all_running(keepers: list[Keeper]) -> AsyncIterator[list[Keeper]]:
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


async def _fleet_file(
    keepers: _Keepers, secret: bytes, seed: Seed, programs: "Programs"
) -> FleetFile:
    keys, settings = programs.keys, programs.settings
    us = ProcessId.ours()
    file = FleetFile(
        coordinator=(await keepers.coordinator.came_up()).url,
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
    if keepers.data_cluster is None or settings.data_cluster is None:
        return file
    url = (await keepers.data_cluster.came_up()).url
    data = settings.data_cluster.place(programs.state)
    return replace(file, data_cluster=url, data=str(data))


@dataclass(frozen=True)
class Programs:
    """`run` names this start of the fleet. `lock` is the state directory's, handed
    down; neither for a broker that joins later. Brokers do not get the keys of
    operators."""

    state: Path
    keys: Keys
    settings: Settings
    run: str = ""
    lock: tuple[int, ...] = ()

    def coordinator(self, data_cluster: str = "") -> Program:
        launch = replace(
            self._launch(_COORDINATOR, self.keys),
            port=self.settings.port,
            state=str(self.state.resolve()),
            data_cluster=data_cluster,
        )
        program = self._program(self.settings.coordinator, launch, "the coordinator")
        return replace(program, lasting=True)

    def data_cluster(self, settings: DataClusterSettings) -> Program:
        launch = replace(
            self._launch(SOURCE, self.keys),
            state=str(settings.place(self.state)),
            master=settings.master,
            conf=dict(settings.conf),
        )
        program = self._program(settings.command, launch, "the data cluster")
        return replace(program, lasting=True, stop_seconds=settings.stop_seconds)

    def broker(self, name: str, coordinator: str, data_cluster: str = "") -> Program:
        launch = replace(
            self._launch(name, self.keys.only(Role.USER, Role.BROKER)),
            coordinator=coordinator,
            data_cluster=data_cluster,
            cores=self.settings.broker_cores,
            nice=self.settings.broker_nice,
            step_limit=self.settings.step_limit,
        )
        return self._program(self.settings.broker, launch, f"broker {name!r}")

    def keeper(self, program: Program, tell: Tell = lambda line: None) -> Keeper:
        first, most = self.settings.first_pause, self.settings.longest_pause
        return Keeper(program, tell, Restarts(program.lasting, first, most))

    def _launch(self, name: str, keys: Keys) -> Launch:
        tls = self.settings.tls
        return Launch(
            name=name,
            host=self.settings.host,
            port=0,
            keys=keys.as_json(),
            run=self.run,
            certificate=tls.certificate,
            private_key=tls.private_key,
            authority=tls.authority,
            cores=self.settings.cores,
            log=self.settings.log,
        )

    def _program(
        self, command: tuple[str, ...], launch: Launch, subject: str
    ) -> Program:
        return Program(
            command,
            launch,
            subject,
            log_path(self.state, launch.name),
            self.lock,
            start_seconds=self.settings.start_seconds,
            stop_seconds=self.settings.stop_seconds,
        )


@asynccontextmanager
async def _growing(
    file: FleetFile, programs: Programs, tell: Tell, brokers: list[Keeper]
) -> AsyncIterator[None]:
    """Ask the coordinator what is wanted, and start it; it is added to `brokers`.

    Whatever was started has ended when the context is left.
    """
    growth = _Growth(file, programs, tell, brokers)
    asking = asyncio.create_task(growth.run())
    try:
        yield
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await growth.end()


class _Growth:
    """Starts the brokers that the coordinator waits for, and keeps them running."""

    def __init__(
        self, file: FleetFile, programs: Programs, tell: Tell, brokers: list[Keeper]
    ) -> None:
        self._operator = BalanceOperator(Operator(file))
        self._file, self._programs, self._tell = file, programs, tell
        self._brokers = brokers
        self._running: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """What cannot be known now is asked again: the coordinator may be starting."""
        while True:
            await asyncio.sleep(_GROW_SECONDS)
            try:
                wanted = await self._operator.wanted()
            except BrokerwiseError:
                continue
            for name in wanted:
                task = self._running.get(name)
                if task is None or task.done():
                    self._start(name)

    async def end(self) -> None:
        for task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    def _start(self, name: str) -> None:
        log.info("%s is wanted: starting it", name)
        self._tell(f"{name} is wanted: starting it")
        program = self._programs.broker(
            name, self._file.coordinator, self._file.data_cluster
        )
        keeper = self._programs.keeper(program, self._tell)
        self._running[name] = asyncio.create_task(self._keep(keeper))

    async def _keep(self, keeper: Keeper) -> None:
        """Until it has ended and stays out. One that does not come up is tried again
        as long as it is wanted."""
        self._brokers.append(keeper)
        try:
            await keeper.run()
            await keeper.came_up()
        except BrokerwiseError as error:  # logged by its keeper
            self._tell(error.message)
        finally:
            self._brokers.remove(keeper)


@dataclass(frozen=True)
class StopResult:
    """`pid` is that of the fleet, None if there was none; `ran`: until now; `forced`:
    it had to be killed."""

    pid: int | None
    ran: bool = False
    forced: bool = False


async def stop_fleet(state: Path) -> StopResult:
    """End the fleet of a state directory; nothing of it runs any more afterwards.

    One that was killed before is put away. Only the process that holds the lock is
    signalled, never another that has its id now. OrphansError if something of it
    stays, InputError if another machine keeps the fleet. Cancelling it stops the
    waiting, not the end of the fleet.
    """
    keeper = last_holder(state)
    fleet = find_fleet(state)
    if keeper is None and fleet is not None and fleet.is_elsewhere:
        raise InputError(
            f"the fleet of {state} is kept by another machine ({fleet.machine})",
            hint="End it there.",
        )
    ran = keeper is not None and keeper.send(signal.SIGTERM)
    if keeper is None or not (ran or fleet_path(state).exists()):
        return StopResult(None)
    forced = ran and not await _gone(keeper)
    if forced:
        keeper.send(signal.SIGKILL)
        if not await _gone(keeper):
            raise BrokerwiseError(f"process {keeper.pid} does not end, even by SIGKILL")
    async with hold_lock(state):
        remove_fleet(state)
    return StopResult(keeper.pid, ran, forced)


async def _gone(keeper: ProcessId) -> bool:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + STOP_SECONDS
    while keeper.running:
        if loop.time() > deadline:
            return False
        await asyncio.sleep(_STOP_POLL_SECONDS)
    return True
