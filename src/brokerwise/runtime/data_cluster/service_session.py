"""The settings of the Spark session that runs channels: it lives for long, its jobs are
short, and somebody waits for each."""

from brokerwise.runtime.protocol.limits import RUN_BYTES

# Beside the results themselves a run hands over their subscriptions and offsets.
_MOST_COLLECTED = RUN_BYTES + RUN_BYTES // 4

_ALWAYS = {
    "spark.app.name": "brokerwise data cluster",
    "spark.scheduler.mode": "FAIR",  # a long run leaves room for a short one
    "spark.driver.maxResultSize": str(_MOST_COLLECTED),
    # The SQL of channels names datasets; nothing may take a path for one.
    "spark.sql.runSQLOnFiles": "false",
    # Segments are small: they are listed here (a job would cost more), and many of
    # them make one task.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.sql.files.openCostInBytes": str(64 << 10),
    "spark.sql.files.maxPartitionBytes": str(32 << 20),
    # Each channel runs the same code again and again.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # What is kept to be looked at, and never is: without a bound on it the memory of a
    # process that runs for weeks fills up.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "500",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.maxPlanStringLength": "10000",
    "spark.cleaner.periodicGC.interval": "10min",
}
_LOCAL = {
    # One pause of a small heap is short; the other collectors start threads.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
}


def service_settings(master: str | None) -> dict[str, str]:
    """For `start_session(master, conf)`; what the user sets goes over them."""
    is_local = master is None or master.startswith("local")
    return _ALWAYS | (_LOCAL if is_local else {})
