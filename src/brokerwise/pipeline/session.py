"""The Spark session: local by default, any master on request."""

import atexit
import os
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from importlib import import_module
from typing import IO, TypeAlias

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from brokerwise.model.errors import BrokerwiseError, InputError

# Opens a session once a job has refused what it can refuse without one.
Session: TypeAlias = Callable[[], AbstractContextManager[SparkSession]]

LOCAL_MASTER = "local[*]"
_MASTER = re.compile(
    r"local(\[(\*|[0-9]+)(,[0-9]+)?\])?|local-cluster\[.*\]|(spark|k8s)://.+|yarn"
)
_LOG_LEVEL = "spark.log.level"

# Right for jobs whose heavy work is not in the JVM: it is up in half the time.
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

_ALWAYS = {
    "spark.app.name": "brokerwise",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.maxResultSize": "0",
}
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "3g",
    "spark.driver.extraJavaOptions": _QUICK_JVM,
}
# What every task of ours needs; imported while the JVM starts.
_WARM = ("brokerwise.kernels.names", "pyarrow.parquet")

# The JVM of this process: PySpark has one, whatever sessions come and go.
_running: list[JavaGateway] = []


class SparkStartError(BrokerwiseError):
    """Spark did not start."""

    def __init__(self, master: str, last_lines: str) -> None:
        self.master, self.last_lines = master, last_lines
        super().__init__(
            f"Spark did not start on {master}",
            details=[
                line for line in last_lines.splitlines() if not line.startswith("\t")
            ][-8:],
            hint="Spark needs Java 17 or newer (java -version) and a master that runs.",
        )


def start_session(
    master: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """A new session on `master`, ready to work; `conf` overrides our settings.

    What the JVM has to say is kept and shown only if it does not start, or as it
    comes where `conf` sets spark.log.level.
    """
    master = master or LOCAL_MASTER
    if not _MASTER.fullmatch(master):
        raise InputError(
            f"--master: found {master!r}, expected local[N], local[*], "
            "spark://HOST:PORT, yarn or k8s://..."
        )
    # Workers must find what the driver has: the same interpreter, unless told.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = dict(_ALWAYS)
    if master.startswith("local"):
        settings |= _LOCAL
    settings.update(conf or {})
    warming = threading.Thread(target=_import_all, daemon=True)
    warming.start()
    with tempfile.TemporaryFile() as log:
        try:
            context = _start_context(master, settings, log)
            if _LOG_LEVEL not in settings:
                context.setLogLevel("OFF")
            tasks = context.defaultParallelism
            context.parallelize(range(tasks), tasks).foreach(_warm_worker)
        except (PySparkException, Py4JError, OSError) as cause:
            log.seek(0)
            lines = log.read().decode("utf-8", "replace")
            raise SparkStartError(master, lines or str(cause)) from cause
    warming.join()
    return SparkSession(context)


def _start_context(
    master: str, settings: Mapping[str, str], log: IO[bytes]
) -> SparkContext:
    configuration = SparkConf(loadDefaults=False).setMaster(master)
    configuration.setAll(list(settings.items()))
    return SparkContext(conf=configuration, gateway=_gateway(configuration, log))


def _gateway(configuration: SparkConf, log: IO[bytes]) -> JavaGateway:
    """The JVM, launched by a thread: Ctrl-C reaches this one, and must not lose sight
    of a process that is just being made."""
    with ThreadPoolExecutor(1) as thread:
        launched = thread.submit(_launch, configuration, log)
        try:
            return launched.result()
        except KeyboardInterrupt:
            ignore_signals()
            launched.exception()  # wait for it, so that it can be stopped at exit
            raise


def _launch(configuration: SparkConf, log: IO[bytes]) -> JavaGateway:
    if not _running:
        quiet = not configuration.contains(_LOG_LEVEL)
        output = {"stdout": log, "stderr": log} if quiet else {}
        _running.append(launch_gateway(configuration, output))  # type: ignore[no-untyped-call]
        atexit.register(_stop_java)
    return _running[0]


def _stop_java() -> None:
    """End the JVM and wait for it, so that nothing is left running."""
    ignore_signals()
    process = _running[0].proc
    process.stdin.close()
    process.wait()


def ignore_signals() -> None:
    """From here on the process ends by itself: to press Ctrl-C again is no use."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)


def _import_all() -> None:
    for module in _WARM:
        import_module(module)


def _warm_worker(_: int) -> None:
    _import_all()
