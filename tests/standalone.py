"""A standalone Spark cluster of real processes, for all tests that need one."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
from tests.processes import Process

_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SPARK_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_PORTS = ("--port", "0", "--webui-port", "0")
# Two names of this machine: Spark starts a second attempt only on another host.
_HOSTS = ("127.0.0.1", "localhost")
_SIZE = ("--cores", "1", "--memory", "1g")

# For processes that import tests, of which executors may be handed functions.
TESTS_FOUND = {"PYTHONPATH": str(Path(__file__).parents[1])}

# For what runs on the cluster: small, on this machine, and quick to start.
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": _QUICK_JVM,
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": _QUICK_JVM,
}


class Standalone:
    """A master, and two workers of one core each.

    They take seconds to start, so one cluster serves all tests: each calls `complete`
    first, for those before may have killed a worker.
    """

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._stack = stack
        self._environment = {
            "SPARK_DAEMON_JAVA_OPTS": _QUICK_JVM,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_WORKER_DIR": str(folder),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            **TESTS_FOUND,
        }
        master = self._started(_MASTER, _HOSTS[0])
        line = master.line_with("Starting Spark master at spark://")
        self.url = line[line.index("spark://") :].strip()
        self._on: dict[str, Process] = {}

    def complete(self) -> None:
        """Replace workers that are gone; return when there are two."""
        for host in _HOSTS:
            if host not in self._on or not self._on[host].alive():
                self._on[host] = self._started(_WORKER, host, *_SIZE, self.url)
        for worker in self.workers:
            worker.line_with("Successfully registered with master")

    @property
    def workers(self) -> list[Process]:
        return list(self._on.values())

    def _started(self, name: str, host: str, *more: str) -> Process:
        command = [_SPARK_CLASS, name, "--host", host, *_PORTS, *more]
        return self._stack.enter_context(Process(command, self._environment))


@contextmanager
def standalone(folder: Path) -> Iterator[Standalone]:
    """A cluster whose workers keep their files in `folder`, until the context ends."""
    with ExitStack() as stack:
        yield Standalone(folder, stack)


def options(url: str) -> list[str]:
    """Of a command that is to run on the cluster."""
    return ["--master", url, *(f"--conf={k}={v}" for k, v in SETTINGS.items())]
