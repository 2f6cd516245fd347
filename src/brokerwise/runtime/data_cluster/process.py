"""The data cluster's process: it starts with a line on its input, is ready with a line
on its output, and ends when it is told to, when its parent has gone, or when Spark has.
"""

import asyncio
import hashlib
import logging
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
import uvloop
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from brokerwise.pipeline.session import LOCAL_MASTER, start_session
from brokerwise.runtime.data_cluster.api import make_service
from brokerwise.runtime.data_cluster.brokers import Notifier
from brokerwise.runtime.data_cluster.cluster import DataCluster
from brokerwise.runtime.data_cluster.spark import service_settings
from brokerwise.runtime.data_cluster.store import DataStore
from brokerwise.runtime.net.api import GRACE_SECONDS
from brokerwise.runtime.net.http import HttpClient
from brokerwise.runtime.net.server import serve_http, url_of
from brokerwise.runtime.net.tls import client_tls, server_tls
from brokerwise.runtime.process.launch import (
    Launch,
    announce,
    run_process,
    stop_requested,
)
from brokerwise.runtime.process.open_files import allow_many_files
from brokerwise.runtime.protocol.names import SOURCE
from brokerwise.runtime.protocol.tokens import Role

STOP_SECONDS = 5.0  # that Spark may take to stop
_STARTER = "spark start"  # the thread
_sessions: list[SparkSession] = []  # the one of this process, once it is up

log = logging.getLogger(__name__)


def main() -> int:
    """The exit code: 0 after a stop in good order, 3 after a failure."""
    # Spark's, which prints the whole stack of every query that fails. By Spark's own
    # way: a plain logger of this name would break its calls.
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    code = run_process(_main)
    if _is_starting() or not _stops_in_time():
        # It cannot be waited for. Its standard input ends with us, and it with that.
        logging.shutdown()
        os._exit(code)
    return code


def _main(launch: Launch) -> int:
    allow_many_files()
    with (
        DataStore(Path(launch.state).resolve()) as store,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(run(launch, store))
    return 0


def _stops_in_time() -> bool:
    thread = threading.Thread(target=_stop_spark, daemon=True)
    thread.start()
    thread.join(STOP_SECONDS)
    return not thread.is_alive()


def _stop_spark() -> None:
    """Also what PySpark runs beside it, which would complain about its end."""
    with suppress(Exception):  # it has gone by itself
        for session in _sessions:
            session.stop()


def _is_starting() -> bool:
    return any(thread.name == _STARTER for thread in threading.enumerate())


async def run(launch: Launch, store: DataStore) -> None:
    """Serve until it is time to stop. Cancelling it loses nothing that was answered.

    An error in what the data cluster does by itself ends it: a new process starts
    from the stored state.
    """
    tls = server_tls(launch.certificate, launch.private_key)
    token = launch.signing().token(Role.BROKER, SOURCE)
    trusted = None if tls is None else client_tls("https:", launch.authority)
    spark = start_spark(launch.master, launch.conf)
    async with (
        HttpClient(repeatable=True) as http,
        Notifier(http.ask, token, trusted) as notifier,
    ):
        fleet, master = fleet_of(launch), launch.master or LOCAL_MASTER
        cluster = DataCluster(store, fleet, notifier, spark, master=master)
        admit = make_service(cluster, launch.signing()).admit
        server = await serve_http(admit, host=launch.host, port=launch.port, ssl=tls)
        stop = stop_requested()  # before anyone knows that there is something to stop
        announce(launch.name, url_of(launch.host, server.port, secure=tls is not None))
        works = asyncio.create_task(cluster.run())
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait({works, stopped}, return_when=asyncio.FIRST_COMPLETED)
        await server.close(GRACE_SECONDS)
        for task in (works, stopped):
            task.cancel()
        await asyncio.gather(stopped, return_exceptions=True)
        try:
            await works
        except asyncio.CancelledError:
            return


def fleet_of(launch: Launch) -> str:
    """A digest that differs between two fleets, and between two starts of one fleet. It
    does not reveal the keys."""
    text = msgspec.json.encode([launch.run, *sorted(launch.keys.items())])
    return hashlib.sha256(text).hexdigest()


def start_spark(master: str, conf: Mapping[str, str]) -> asyncio.Future[SparkSession]:
    """A session, once it is up. The process may end before: it does not wait for the
    thread that starts it."""
    loop = asyncio.get_running_loop()
    started: asyncio.Future[SparkSession] = loop.create_future()

    def settle(session: SparkSession | None, error: Exception | None) -> None:
        if started.done():
            return
        if error is not None:
            log.error("Spark could not be started: %s", error)
            started.set_exception(error)
        elif session is not None:
            log.info("Spark is up on %s", session.sparkContext.master)
            started.set_result(session)

    def start() -> None:
        session, error = None, None
        try:
            session = _session(master, conf)
            _sessions.append(session)
        except Exception as cause:  # raised where the session is awaited
            error = cause
        try:
            loop.call_soon_threadsafe(settle, session, error)
        except RuntimeError:  # the loop has ended before
            return

    log.info("Spark is starting on %s", master or LOCAL_MASTER)
    threading.Thread(target=start, name=_STARTER, daemon=True).start()
    return started


def _session(master: str, conf: Mapping[str, str]) -> SparkSession:
    settings = {**service_settings(master or None), **conf}
    return start_session(master or None, settings)
