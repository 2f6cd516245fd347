"""The coordinator's process: started with a line, ready with a line, and it ends
when it is told to or when the process that started it has gone."""

import asyncio
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec
import uvloop

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.coordinator.api import make_service
from brokerwise.runtime.coordinator.coordinator import Coordinator
from brokerwise.runtime.coordinator.store import STATE_FILE, Store, seed_store
from brokerwise.runtime.net.api import GRACE_SECONDS
from brokerwise.runtime.net.errors import RefusedError
from brokerwise.runtime.net.http import HttpClient
from brokerwise.runtime.net.server import serve_http, url_of
from brokerwise.runtime.net.tls import client_tls, server_tls
from brokerwise.runtime.process.launch import (
    SEED_FILE,
    Launch,
    announce,
    run_process,
    stop_requested,
)
from brokerwise.runtime.process.open_files import allow_many_files
from brokerwise.runtime.protocol.data import (
    Channels,
    ChannelStatus,
    Datasets,
    DatasetStatus,
)
from brokerwise.runtime.protocol.seed import Seed
from brokerwise.runtime.protocol.tokens import Role

T = TypeVar("T")
DATA_SECONDS = 10.0


def main() -> int:
    """The exit code: 0 after a stop in good order, 3 after a failure."""
    return run_process(_main)


def _main(launch: Launch) -> int:
    allow_many_files()
    with (
        _opened(Path(launch.state)) as store,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(run(launch, store))
    return 0


def _opened(state: Path) -> Store:
    """The state of the coordinator before; of a new fleet, one made from its seed."""
    path, seed = state / STATE_FILE, state / SEED_FILE
    if seed.exists():
        seed_store(path, msgspec.json.decode(seed.read_bytes(), type=Seed))
        seed.unlink()
    return Store(path)


async def run(launch: Launch, store: Store) -> None:
    """Serve until it is time to stop. Cancelling it loses nothing that was answered.

    An error in what the coordinator does by itself ends it: a new process starts
    from the stored state.
    """
    async with HttpClient(repeatable=True) as http:
        await _serve(launch, store, http)


async def _serve(launch: Launch, store: Store, http: HttpClient) -> None:
    tls = server_tls(launch.certificate, launch.private_key)
    coordinator = Coordinator(
        *(store, launch.signing(), http.ask),
        tls=None if tls is None else client_tls("https:", launch.authority),
        data=_data_cluster(launch, http),
    )
    admit = make_service(coordinator).admit
    server = await serve_http(admit, host=launch.host, port=launch.port, ssl=tls)
    stop = stop_requested()  # before anyone knows that there is something to stop
    announce(launch.name, url_of(launch.host, server.port, secure=tls is not None))
    chores = asyncio.create_task(coordinator.run())
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait({chores, stopped}, return_when=asyncio.FIRST_COMPLETED)
    coordinator.watching.end()  # or the server would wait for them
    await server.close(GRACE_SECONDS)
    for task in (chores, stopped):
        task.cancel()
    await asyncio.gather(stopped, return_exceptions=True)
    try:
        await chores
    except asyncio.CancelledError:
        return


class DataClusterReader:
    """Asks the data cluster about its datasets and channels, as an operator."""

    def __init__(self, http: HttpClient, url: str, token: str, authority: str) -> None:
        self._http = http
        self._url, self._token = url.rstrip("/"), token
        self._tls = client_tls(url, authority)

    async def datasets(self) -> tuple[DatasetStatus, ...]:
        return (await self._get("/datasets", Datasets)).datasets

    async def dataset(self, name: str) -> DatasetStatus:
        return await self._get(f"/datasets/{quote(name, safe='')}", DatasetStatus)

    async def channels(self) -> tuple[ChannelStatus, ...]:
        return (await self._get("/channels", Channels)).channels

    async def channel(self, name: str) -> ChannelStatus:
        return await self._get(f"/channels/{quote(name, safe='')}", ChannelStatus)

    async def _get(self, path: str, kind: type[T]) -> T:
        try:
            return await self._http.ask(
                *(self._url + path, None, kind),
                method="GET",
                token=self._token,
                seconds=DATA_SECONDS,
                ssl=self._tls,
            )
        except RefusedError as refused:
            raise BrokerwiseError(refused.text.split("\n")[0]) from refused


def _data_cluster(launch: Launch, http: HttpClient) -> DataClusterReader | None:
    """The data cluster to ask about datasets and channels, if there is one."""
    if not launch.data_cluster:
        return None
    token = launch.signing().token(Role.OPERATOR, launch.name)
    return DataClusterReader(http, launch.data_cluster, token, launch.authority)
