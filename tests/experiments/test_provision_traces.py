"""Real graphs become workloads, and missing files are named."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from brokerwise.experiments.provision_traces import (
    graphs,
    posts_per_period,
    prepare,
    shaped,
)
from brokerwise.model.errors import InputError
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.storage.workload import read_workload


@pytest.mark.parametrize(
    ("statuses", "created", "rate"),
    [
        (0, "2020-01-01", 0),  # has never posted
        (1, "2017-01-01", 1),  # hardly ever posts
        (100, "2024-07-25", 10),  # 100 days
        (104, "2024-07-25", 10),
        (105, "2024-07-25", 11),
        (7, "2024-11-02", 7),  # the first day
        (7, "2024-10-30", 7),  # younger than the period
    ],
)
def test_rates_are_posts_in_ten_days(statuses: int, created: str, rate: int) -> None:
    found = posts_per_period(np.array([statuses]), np.array([created], "datetime64[D]"))
    assert found.tolist() == [rate]


def write_gzip(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode()))


def write_mastodon(folder: Path) -> None:
    write_gzip(
        folder / "mastodon_follows.csv.gz", "follower,followee\n2,7\n13,7\n13,8\n2,9\n"
    )
    write_gzip(
        folder / "mastodon_accounts.csv.gz",
        "id,followers_count,following_count,statuses_count,created_date,"
        "last_status_date,bot\n"
        "2,0,2,55,2020-02-15,,0\n"  # nobody follows it: no topic
        "7,2,0,300,2024-07-25,2024-11-01,0\n"
        "8,1,0,1,2024-07-25,,0\n"
        "9,1,0,0,0001-01-01,,0\n",
    )


def prepared(traces: list[Any], root: Path, spark: SparkSession) -> list[Any]:
    from contextlib import nullcontext

    places = prepare(traces, root, lambda: nullcontext(spark), Stopwatch())
    return [read_workload(places[trace.key][0]) for trace in traces]


def test_mastodon_is_read_as_it_is(tmp_path: Path, spark: SparkSession) -> None:
    write_mastodon(tmp_path)
    (workload,) = prepared(graphs(tmp_path), tmp_path / "out", spark)
    assert list(workload.topic_names) == ["7", "8", "9"]
    assert workload.rates.tolist() == [30, 1, 0]
    assert list(workload.subscriber_names) == ["13", "2"]
    assert workload.interests.topics.tolist() == [0, 1, 0, 2]
    assert workload.period_seconds == 864_000
    assert not (tmp_path / "out/raw").exists()


def test_dependencies_without_a_count_are_left_out(
    tmp_path: Path, spark: SparkSession
) -> None:
    write_gzip(
        tmp_path / "npm_dependents_2017-01.csv.gz",
        "topic_pkg,subscriber_pkg,kind\n0,1,dep\n0,2,dev\n0,2,dep\n5,1,dep\n",
    )
    (tmp_path / "npm_top1000_version_counts.csv").write_text(
        "topic_pkg,name,n_dependent_edges_2017,n_versions_all_time\n0,mocha,3,251\n"
    )
    write_gzip(
        tmp_path / "crates_deps_2020-07.csv.gz",
        "topic_crate,subscriber_crate,kind,n_subscriber_versions,in_latest\n"
        "3,9,normal,1,1\n",
    )
    write_gzip(
        tmp_path / "crates_topics_2020-07.csv.gz", "crate_id,name,n_releases\n3,x,4\n"
    )
    crates, npm = prepared(graphs(tmp_path), tmp_path / "out", spark)
    assert (npm.rates.tolist(), npm.pairs) == ([251], 2)
    assert (crates.rates.tolist(), crates.pairs) == ([4], 1)


def test_a_workload_that_is_there_is_not_made_again(
    tmp_path: Path, spark: SparkSession
) -> None:
    traces = [shaped("spotify", 0.0001, 1)]
    (first,) = prepared(traces, tmp_path, spark)

    def no_session() -> Any:
        raise AssertionError("Spark is not needed")

    again = prepare(traces, tmp_path, no_session, Stopwatch())
    place, header = again["spotify-0.0001-seed1"]
    assert header.pairs == first.pairs
    assert place.exists()


def test_missing_and_doubtful_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found none of mastodon_follows\*"):
        graphs(tmp_path)
    (tmp_path / "mastodon_follows.csv").write_text("follower,followee\n")
    with pytest.raises(InputError, match=r"found no mastodon_accounts\*"):
        graphs(tmp_path)
    (tmp_path / "mastodon_follows_2.csv").write_text("follower,followee\n")
    with pytest.raises(InputError, match="expected one mastodon_follows"):
        graphs(tmp_path)
