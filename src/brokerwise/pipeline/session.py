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
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, TypeAlias

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from brokerwise.model.errors import BrokerwiseError, InputError

# Opens a session once a job has refused what it can refuse without one.
Session: TypeAlias = Callable[[], AbstractContextManager[SparkSession]]

LOCAL_MASTER = "local[*]"
_MASTER = re.compile(
    r"local(\[(\*|[0-9]+)(,[0-9]+)?\])?|local-cluster\[.*\]|(spark|k8s)://.+|yarn"
)
_MASTER_KEY = "spark.master"
_LOG_LEVEL = "spark.log.level"
_PROPERTY = re.compile(r"\s*(spark\.[^\s=:]+)(?:\s*[=:]\s*|\s+)(.*?)\s*")

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


@dataclass(frozen=True)
class _Java:
    """The JVM of this process: PySpark has one, whatever sessions come and go.

    `passed` are the settings that we started it with, none if it was there already.
    """

    gateway: JavaGateway
    passed: Mapping[str, str]

    def told(self) -> dict[str, str]:
        """What spark-submit, spark-defaults.conf or PYSPARK_SUBMIT_ARGS set."""
        known = SparkConf(_jvm=self.gateway.jvm).getAll()
        return {key: value for key, value in known if self.passed.get(key) != value}


_running: list[_Java] = []


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


def running_session() -> SparkSession | None:
    """The session that somebody has started in this process, if there is one."""
    session = SparkSession.getActiveSession()
    if session is None and SparkContext._active_spark_context is not None:  # noqa: SLF001
        # Made in another thread, or a context alone.
        session = SparkSession.builder.getOrCreate()
    return session


def start_session(
    master: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """A new session, ready to work.

    `master` and `conf` go over what spark-submit, spark-defaults.conf or
    PYSPARK_SUBMIT_ARGS say, and that goes over our own settings. What a JVM of ours has
    to say is kept and shown only if it does not start, or as it comes where
    spark.log.level is set.
    """
    if master is not None and not _MASTER.fullmatch(master):
        raise InputError(
            f"--master: found {master!r}, expected local[N], local[*], "
            "spark://HOST:PORT, yarn or k8s://..."
        )
    given = dict(conf or {})
    if master is not None:
        given = {_MASTER_KEY: master, **given}
    # Workers must find what the driver has: the same interpreter, unless told.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warming = threading.Thread(target=_import_all, daemon=True)
    warming.start()
    with tempfile.TemporaryFile() as log:
        try:
            context = _start_context(given, log)
            tasks = context.defaultParallelism
            context.parallelize(range(tasks), tasks).foreach(_warm_worker)
        except (PySparkException, Py4JError, OSError) as cause:
            log.seek(0)
            lines = log.read().decode("utf-8", "replace")
            where = given.get(_MASTER_KEY, LOCAL_MASTER)
            raise SparkStartError(where, lines or str(cause)) from cause
    warming.join()
    return SparkSession(context)


def _start_context(given: Mapping[str, str], log: IO[bytes]) -> SparkContext:
    java = _java(given, log)
    told = java.told()
    settings = _with_ours(given, told)
    configuration = SparkConf(loadDefaults=False, _jvm=java.gateway.jvm)
    configuration.setAll(list({**told, **settings}.items()))
    context = SparkContext(conf=configuration, gateway=java.gateway)
    if java.passed and not configuration.contains(_LOG_LEVEL):
        context.setLogLevel("OFF")
    return context


def _with_ours(given: Mapping[str, str], told: Mapping[str, str]) -> dict[str, str]:
    """What is given, and our own settings where neither that nor `told` has one."""
    master = given.get(_MASTER_KEY, told.get(_MASTER_KEY, LOCAL_MASTER))
    is_local = master.startswith("local")
    ours = {_MASTER_KEY: master, **_ALWAYS, **(_LOCAL if is_local else {})}
    return {k: v for k, v in ours.items() if k not in told} | dict(given)


def _java(given: Mapping[str, str], log: IO[bytes]) -> _Java:
    """The JVM, launched by a thread if there is none: Ctrl-C reaches this one, and must
    not lose sight of a process that is just being made."""
    there = SparkContext._gateway  # noqa: SLF001
    if there is not None and not any(java.gateway is there for java in _running):
        return _Java(there, {})
    if not _running:
        with ThreadPoolExecutor(1) as thread:
            launched = thread.submit(_launch, given, log)
            try:
                launched.result()
            except KeyboardInterrupt:
                ignore_signals()
                launched.exception()  # wait for it, so that it can be stopped at exit
                raise
    return _running[0]


def _launch(given: Mapping[str, str], log: IO[bytes]) -> None:
    """Start a JVM, or connect to the one that spark-submit has started."""
    passed: dict[str, str] = {}
    output: dict[str, IO[bytes]] = {}
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        defaults = _spark_defaults()
        passed = _with_ours(given, defaults)
        if passed.get(_MASTER_KEY, defaults.get(_MASTER_KEY, "")).startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        if _LOG_LEVEL not in {**defaults, **passed}:
            output = {"stdout": log, "stderr": log}
    configuration = SparkConf(loadDefaults=False).setAll(list(passed.items()))
    gateway = launch_gateway(configuration, output)  # type: ignore[no-untyped-call]
    _running.append(_Java(gateway, passed))
    if gateway.proc is not None:
        atexit.register(_stop_java)


def _spark_defaults() -> dict[str, str]:
    """What spark-defaults.conf says: the JVM will read it, and must start by it."""
    folder = os.environ.get("SPARK_CONF_DIR") or f"{_find_spark_home()}/conf"
    try:
        lines = Path(folder, "spark-defaults.conf").read_text().splitlines()
    except FileNotFoundError:
        return {}
    found = (_PROPERTY.fullmatch(line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def _stop_java() -> None:
    """End the JVM and wait for it, so that nothing is left running."""
    ignore_signals()
    process = _running[0].gateway.proc
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
