"""A co-location plan, run: topics at home, and whether they meet their targets."""

from pathlib import Path

from tests.cli.test_fleet import Captured, answer, detached
from tests.colocation import save_model, save_topics

from brokerwise.cli.main import run
from brokerwise.storage.latency_data import read_latency_data
from brokerwise.storage.place import Place

TOPICS = [
    ("gps/1", 2.0, 20.0, 500.0),
    ("gps/2", 1.0, 10.0, 500.0),
    ("art", 30.0, 4.0, 75.0),
]


def test_a_plan_runs_and_says_which_topics_met_their_targets(
    in_tmp_path: Path, capsys: Captured
) -> None:
    save_model("model")
    save_topics("topics.csv", TOPICS)
    plan = "colocate topics.csv --model model --k 2 --out plan --margin 0%"
    assert answer(plan, capsys)["brokers"] == 2
    # What really happens takes longer than what was planned with.
    with detached("--plan plan --step art=spin:80", capsys) as up:
        assert set(up["brokers"]) == {"b0", "b1"}
        assert run(["replay", "--seconds", "3", "--observed", "seen", "--json"]) == 1
        capsys.readouterr()
        topics = {t["topic"]: t for t in answer("status --topics", capsys)["topics"]}
        assert {t["topic"]: t["broker"] == t["home"] for t in topics.values()} == {
            name: True for name, *_ in TOPICS
        }
        assert topics["gps/1"]["met"] is True
        assert run(["moves", "--dry-run"]) == 3
        said = capsys.readouterr().err
        assert "fixes which broker carries which topic" in said
    seen = read_latency_data(Place("seen"))
    assert sorted(set(seen.rows.configuration.tolist())) == [0, 1]
    late = {topic: row["met"] for topic, row in topics.items()}
    assert late == {"gps/1": True, "gps/2": True, "art": False}
