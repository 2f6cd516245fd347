"""Message history to a network, checked against pandas and plain loops."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.pipeline.histories import (
    History,
    Numbers,
    expected_deliveries,
    expected_interests,
    expected_rates,
    expected_traffic,
    random_history,
)

from brokerwise.model.errors import InputError
from brokerwise.model.network import Network
from brokerwise.pipeline.networks.topology import read_topology
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.pipeline.summarize import messages
from brokerwise.pipeline.summarize import traffic as traffic_matrix
from brokerwise.pipeline.summarize.job import SummarizeResult, summarize
from brokerwise.pipeline.summarize.options import MASS, WIDTH, SummarizeOptions
from brokerwise.storage.network import read_network
from brokerwise.storage.place import Place


def run(
    spark: SparkSession,
    history: History,
    name: str = "network",
    traffic: str | None = None,
    **options: Any,
) -> SummarizeResult:
    folder = history.folder
    given = SummarizeOptions(
        **{
            "messages": (str(folder / "messages.csv"),),
            "subscriptions": str(folder / "ranges.csv"),
            **options,
        }
    )
    with patch.object(messages, "BYTES_PER_BUCKET", 2000):  # several of them
        return summarize(
            given,
            read_topology(history.files),
            Place(str(folder / name)),
            session=lambda: nullcontext(spark),
            progress=Stopwatch(),
            traffic=None if traffic is None else Place(str(folder / traffic)),
        )


def rates_of(network: Network) -> dict[tuple[str, int], int]:
    names = list(network.user_names)
    published = network.published
    return {
        (names[user], int(cell)): int(rate)
        for user, cell, rate in zip(
            published.owners(), published.subchannels, published.rates, strict=True
        )
    }


def interests_of(network: Network) -> dict[str, set[int]]:
    offsets, cells = network.wanted.offsets, network.wanted.subchannels
    return {
        name: set(cells[offsets[n] : offsets[n + 1]].tolist())
        for n, name in enumerate(network.user_names)
    }


def traffic_of(folder: Path, network: Network) -> dict[tuple[str, str], int]:
    names = list(network.user_names)
    rows = pq.read_table(folder / "traffic").to_pylist()
    found = {(names[r["from"]], names[r["to"]]): r["rate"] for r in rows}
    assert len(found) == len(rows)
    return found


def losing_an_attempt() -> Any:
    """Writes each part of the traffic twice, and tells of the second time only."""
    write = traffic_matrix._write_part  # noqa: SLF001

    def write_twice(root: Place, run: str, batches: Iterator[Any]) -> Iterator[Any]:
        kept = list(batches)
        list(write(root, f"lost-{run}", iter(kept)))
        yield from write(root, run, iter(kept))

    return write_twice


def equal_widths(history: History, counts: list[int]) -> list[Numbers]:
    return [
        np.linspace(values.min(), values.max(), count + 1)
        for values, count in (
            (history.messages[name], count)
            for name, count in zip(history.attributes, counts, strict=True)
        )
    ]


def equal_masses(history: History, counts: list[int]) -> list[Numbers]:
    edges = []
    for name, count in zip(history.attributes, counts, strict=True):
        values = np.sort(history.messages[name])
        inner = [values[k * len(values) // count] for k in range(1, count)]
        edges.append(np.unique([values[0], *inner, values[-1]]))
    return edges


CASES = {
    "one attribute": (1, [7], WIDTH, None),
    "two attributes by mass": (2, [6, 4], MASS, None),
    "three attributes by bytes": (3, [3, 2, 4], WIDTH, "size"),
}


@pytest.mark.parametrize(
    ("dimensions", "counts", "cut", "amount"), CASES.values(), ids=CASES.keys()
)
def test_a_summary_says_what_pandas_says(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    dimensions: int,
    counts: list[int],
    cut: str,
    amount: str | None,
) -> None:
    history = random_history(tmp_path, 20 + dimensions, dimensions)
    monkeypatch.setattr(traffic_matrix, "_write_part", losing_an_attempt())
    found = run(
        spark,
        history,
        traffic="t",
        subchannels=tuple(counts),
        cut=cut,
        by_bytes=amount is not None,
    )
    network = read_network(Place(str(tmp_path / "network")))
    edges = (equal_masses if cut == MASS else equal_widths)(history, counts)
    for axis, at in zip(network.subchannels.axes, edges, strict=True):
        np.testing.assert_array_equal(axis.edges, at)
    assert list(network.user_names) == history.users
    assert rates_of(network) == expected_rates(history, edges, amount)
    assert interests_of(network) == expected_interests(history, edges)
    caused, exact = expected_deliveries(history, edges)
    assert (found.deliveries, found.messages) == (caused, len(history.messages))
    assert found.false_positive_share == (caused - exact) / caused
    assert traffic_of(tmp_path / "t", network) == expected_traffic(
        history, edges, amount
    )
    stated = json.loads((tmp_path / "t" / "traffic.json").read_text())
    rows = pq.read_table(tmp_path / "t" / "traffic").num_rows
    assert rows == stated["pairs"] == found.pairs
    times = history.messages["time"]
    assert network.period_seconds == times.max() - times.min()


def test_files_and_formats_do_not_matter(spark: SparkSession, tmp_path: Path) -> None:
    history = random_history(tmp_path, 5, 2)
    whole = run(spark, history, "one", cut=MASS, subchannels=(5,))
    frame, parts = history.messages, tmp_path / "parts"
    parts.mkdir()
    mixed = frame.sample(frac=1, random_state=1)
    mixed[:70].to_csv(parts / "a.tsv", sep="\t", index=False)
    mixed[70:150].to_csv(parts / "b.csv.gz", index=False)
    mixed[150:220].to_json(parts / "c.ndjson", orient="records", lines=True)
    mixed[220:].to_parquet(parts / "d.parquet", index=False)
    split = run(
        spark, history, "four", messages=(str(parts),), cut=MASS, subchannels=(5,)
    )
    assert split.header.digest == whole.header.digest
    assert split.header.figures == whole.header.figures


def test_bad_messages_are_kept_aside_with_their_reasons(
    spark: SparkSession, tmp_path: Path
) -> None:
    history = random_history(tmp_path, 7, 1)
    good = (tmp_path / "messages.csv").read_text().splitlines()
    bad = [
        "stranger,1700000000,5,1.5",
        f"{history.users[0]},soon,5,1.5",
        f"{history.users[0]},1700000000,5,much",
        f"{history.users[0]},1700000000,5,",
        f"{history.users[0]},1700000000,5,11",
        f"{history.users[0]},1700000000,-5,1",
    ]
    (tmp_path / "messages.csv").write_text("\n".join([*good, *bad]) + "\n")
    with pytest.raises(InputError, match=r"6 of 306 rows .* cannot be used"):
        run(spark, history, space=((0.0, 10.0),))
    assert not (tmp_path / "network").exists()
    found = run(spark, history, space=((0.0, 10.0),), max_rejected=0.05)
    assert (found.messages, found.rejected) == (300, 6)
    rows = pq.read_table(tmp_path / "network" / "rejected").to_pylist()
    assert [row["reason"] for row in rows] == [
        "publisher is not one of the users",
        "time is neither Unix seconds nor ISO 8601",
        "a0 is not a number",
        "empty a0",
        "a0 is outside the space",
        "negative size",
    ]
    assert [row["line"] for row in rows] == list(range(302, 308))
    named = json.loads((tmp_path / "network" / "network.json").read_text())["files"]
    assert named == {"rejected": ["part-00000.parquet"]}
    network = read_network(Place(str(tmp_path / "network")))
    edges = [np.linspace(0, 10, 101)]
    assert rates_of(network) == expected_rates(history, edges, None)


def test_a_failed_run_writes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    history = random_history(tmp_path, 9, 1)
    with pytest.raises(InputError, match=r"the messages span .* s; nothing"):
        run(spark, history, traffic="t", period_seconds=10)
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {"messages.csv", "ranges.csv", "u.csv", "brokers.csv"}


def test_the_same_value_in_all_messages_cannot_be_cut(
    spark: SparkSession, tmp_path: Path
) -> None:
    history = random_history(tmp_path, 11, 1)
    history.messages["a0"] = 3
    history.write()
    with pytest.raises(InputError, match="attribute 'a0' is 3 in all messages"):
        run(spark, history)
