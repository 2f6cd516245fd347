"""What tests of the pipeline with real processes share."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest
from tests.processes import Process


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[Process]]]:
    """A standalone master and two workers of one core each."""
    spark_class = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    environment = {
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_WORKER_DIR": str(tmp_path / "workers"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    where = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    with ExitStack() as stack:
        name = "org.apache.spark.deploy.master.Master"
        master = stack.enter_context(Process([spark_class, name, *where], environment))
        line = master.line_with("Starting Spark master at spark://")
        url = line[line.index("spark://") :].strip()
        size = ["--cores", "1", "--memory", "1g"]
        name = "org.apache.spark.deploy.worker.Worker"
        workers = [
            stack.enter_context(
                Process([spark_class, name, *where, *size, url], environment)
            )
            for _ in range(2)
        ]
        for worker in workers:
            worker.line_with("Successfully registered with master")
        yield url, workers
