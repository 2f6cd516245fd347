"""The Spark session: local by default, any master on request."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress

from pyspark.sql import SparkSession

LOCAL_MASTER = "local[*]"

# Right for jobs of seconds: the JVM is up and its first query done in half the time.
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

_ALWAYS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.maxResultSize": "0",
    "spark.log.level": "ERROR",
}
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "3g",
    "spark.driver.extraJavaOptions": _QUICK_JVM,
}


def start_session(
    master: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """The running session, or a new one on `master`; `conf` overrides our settings."""
    master = master or LOCAL_MASTER
    # Workers must find what the driver has: the same interpreter, unless told.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = dict(_ALWAYS)
    if master.startswith("local"):
        settings |= _LOCAL
    settings |= conf or {}
    builder = SparkSession.builder.master(master).appName("brokerwise")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def stop_session() -> None:
    """Stop the running session, if there is one."""
    session = SparkSession.getActiveSession()
    if session is not None:
        with suppress(KeyboardInterrupt):
            session.stop()
