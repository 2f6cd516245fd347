"""Sessions in which channel SQL is checked and run: both the same."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY_SETTINGS = {
    # What cannot be computed (a division by 0, a text that is no number) is NULL: one
    # record, or one subscriber's value, cannot end a run for all.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.runSQLOnFiles": "false",
    # ${env:NAME} in a text would be put in before it is parsed.
    "spark.sql.variable.substitute": "false",
    # Else each column of SELECT can double the one before it.
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.session.timeZone": "UTC",
}


def query_session(spark: "SparkSession") -> "SparkSession":
    """A session of its own, with its own views, on the same Spark."""
    session = spark.newSession()
    for name, value in QUERY_SETTINGS.items():
        session.conf.set(name, value)
    return session
