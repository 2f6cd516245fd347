"""Sessions: ours, those of spark-submit, and those that somebody else has made."""

import json
import sys
from pathlib import Path

import pytest
from tests.processes import Process

SPARK_SUBMIT = str(Path(sys.executable).with_name("spark-submit"))
SUBMITTED = str(Path(__file__).with_name("submitted.py"))


def test_what_spark_submit_is_told_holds_and_it_ends_without_a_word(
    tmp_path: Path,
) -> None:
    (tmp_path / "pairs.csv").write_text("a,u\nb,u\na,v\n")
    (tmp_path / "rates.csv").write_text("a,5\nb,2\n")
    told = ("spark.sql.shuffle.partitions=3", "spark.log.level=OFF")
    given = [str(tmp_path / name) for name in ("pairs.csv", "rates.csv", "out")]
    command = [
        *(SPARK_SUBMIT, "--master", "local[1]", "--name", "mine"),
        *(f"--conf={setting}" for setting in told),
        *(SUBMITTED, *given),
    ]
    here = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with Process(command, here) as running:
        code = running.wait()
    assert code == 0, running.lines
    assert not [line for line in running.lines if "Traceback" in line], running.lines
    said = [json.loads(line) for line in running.lines if line.startswith("{")]
    assert said[0] == {
        "master": "local[1]",
        "spark.app.name": "mine",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.session.timeZone": "UTC",
    }
    assert said[1]["pairs"] == said[3]["pairs"] == 3
    assert said[1]["digest"] == said[3]["digest"]
    assert said[2] == {"running": False}
    assert said[4] == {"rows": 3}


SETTINGS = """
import json
from brokerwise.pipeline.session import start_session

session = start_session("local[2]", {"spark.app.name": "given"})
print(json.dumps(dict(session.sparkContext.getConf().getAll())))
session.stop()
"""


@pytest.mark.long
def test_spark_defaults_go_over_our_settings_and_options_over_both(
    tmp_path: Path,
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# of the whole site\n"
        "spark.master                  local[1]\n"
        "spark.app.name=site\n"
        "spark.driver.memory           600m\n"
        "spark.driver.extraJavaOptions -XX:+UseParallelGC\n"
    )
    folder = {"SPARK_CONF_DIR": str(tmp_path)}
    with Process([sys.executable, "-c", SETTINGS], folder) as running:
        assert running.wait() == 0, running.lines
    (found,) = (json.loads(line) for line in running.lines if line.startswith("{"))
    assert found["spark.master"] == "local[2]"
    assert found["spark.app.name"] == "given"
    assert found["spark.driver.memory"] == "600m"
    assert "-XX:+UseParallelGC" in found["spark.driver.extraJavaOptions"]
    assert found["spark.sql.session.timeZone"] == "UTC"
