"""The coordinator's process: started with a line, ready with a line, and it ends
when it is told to or when whoever started it has gone."""

import asyncio
import logging
import sys
from pathlib import Path

import uvloop

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.data_cluster import DataClient
from brokerwise.runtime.coordinator.api import make_app
from brokerwise.runtime.coordinator.coordinator import Coordinator
from brokerwise.runtime.coordinator.store import STATE_FILE, Store
from brokerwise.runtime.net.http import HttpClient
from brokerwise.runtime.net.listening import listen, server, url_of
from brokerwise.runtime.net.tls import client_tls, server_tls
from brokerwise.runtime.process.launch import Launch
from brokerwise.runtime.process.lifecycle import announce, read_launch, stop_requested
from brokerwise.runtime.process.open_files import allow_many_files
from brokerwise.runtime.protocol.tokens import Role

_log = logging.getLogger(__name__)


def main() -> int:
    """The exit code: 0 after a stop in good order, 3 after a failure."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s"
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    try:
        launch = read_launch()
        allow_many_files()
        with (
            Store(Path(launch.state) / STATE_FILE) as store,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            runner.run(run(launch, store))
    except (BrokerwiseError, OSError) as cause:
        _log.error("error: %s", cause)
        return 3
    return 0


async def run(launch: Launch, store: Store) -> None:
    """Serve until it is time to stop. Cancelling it loses nothing that was answered.

    An error in what the coordinator does by itself ends it: a new process starts
    from the stored state.
    """
    async with HttpClient(repeatable=True) as http:
        await _serve(launch, store, http)


async def _serve(launch: Launch, store: Store, http: HttpClient) -> None:
    server_tls(launch.certificate, launch.private_key)  # says what is wrong with them
    bound = listen(launch.host, launch.port)
    url = url_of(bound, launch.host, secure=bool(launch.certificate))
    coordinator = Coordinator(
        *(store, launch.signing(), http.ask),
        tls=client_tls(url, launch.authority),
        data=_data_cluster(launch),
    )
    serving = server(
        make_app(coordinator),
        lambda: announce(launch.name, url),
        certificate=launch.certificate,
        private_key=launch.private_key,
    )
    stop = stop_requested()
    served = asyncio.create_task(serving.serve([bound]))
    chores = asyncio.create_task(coordinator.run())
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait({served, chores, stopped}, return_when=asyncio.FIRST_COMPLETED)
    coordinator.watching.end()  # or the server would wait for them
    serving.should_exit = True
    await served
    for task in (chores, stopped):
        task.cancel()
    await asyncio.gather(stopped, return_exceptions=True)
    try:
        await chores
    except asyncio.CancelledError:
        return


def _data_cluster(launch: Launch) -> DataClient | None:
    """Whom to ask about datasets and channels, if there are any."""
    if not launch.data_cluster:
        return None
    token = launch.signing().token(Role.OPERATOR, launch.name)
    return DataClient(launch.data_cluster, token, launch.authority)
