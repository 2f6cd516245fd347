"""What somebody hands to spark-submit: a session as we start it, a command by itself,
and a command in a session of theirs. Prints what it finds, a JSON object a line.

Arguments: a file of pairs, a file of rates, a directory to write to.
"""

import json
import sys

from pyspark.sql import SparkSession

from brokerwise.cli.main import run
from brokerwise.pipeline.session import start_session

KEYS = ("spark.app.name", "spark.sql.shuffle.partitions", "spark.sql.session.timeZone")


def main(pairs: str, rates: str, out: str) -> int:
    started = start_session()
    settings = {key: started.conf.get(key) for key in KEYS}
    say({"master": started.sparkContext.master, **settings})
    started.stop()
    command = ["ingest", "--pairs", pairs, "--rates", rates, "--json", "--out"]
    code = run([*command, f"{out}/alone"])
    say({"running": SparkSession.getActiveSession() is not None})
    theirs = SparkSession.builder.getOrCreate()
    code = code or run([*command, f"{out}/shared"])
    say({"rows": theirs.range(3).count()})
    theirs.stop()
    return code


def say(found: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
