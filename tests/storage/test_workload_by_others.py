"""Workload directories as other programs read them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from brokerwise.model.interests import Interests
from brokerwise.model.names import Names
from brokerwise.model.workload import Workload
from brokerwise.storage.place import Place
from brokerwise.storage.workload import read_workload, write_workload


def test_a_workload_of_several_blocks_is_what_others_read_it_as(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    subscribers, topics = 70_000, 66_000
    lengths = random.integers(0, 3, subscribers)
    firsts = random.integers(0, topics - 1, subscribers)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    wanted = np.repeat(firsts, lengths) + np.arange(offsets[-1])
    wanted -= np.repeat(offsets[:-1], lengths)
    w = Workload(
        rates=np.sort(random.integers(0, 1000, topics))[::-1],
        interests=Interests(offsets, wanted.astype(np.int32)),
        topic_names=Names.numbered(topics),
        subscriber_names=Names.numbered(subscribers),
        thresholds=random.integers(-1, 50, subscribers),
        places=random.random((subscribers, 2)),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("brokerwise.storage.subscribers.PAIRS_PER_PART", 50_000)
        place = Place(str(tmp_path / "w"))
        header = write_workload(w, place)
    assert len(header.files["interests"]) == 2
    found = read_workload(place, verify=True)
    assert np.array_equal(found.interests.topics, w.interests.topics)
    assert np.array_equal(found.interests.offsets, w.interests.offsets)
    assert found.subscriber_names.to_arrow().equals(w.subscriber_names.to_arrow())
    pairs = (
        duckdb.connect()
        .execute(
            f"""
        select count(*), sum(rate), min(s.name), max(s.name), sum(threshold)
        from (select subscriber, unnest(topics) topic
              from '{place.uri}/interests/*.parquet') i
        join '{place.uri}/topics/*.parquet' t using (topic)
        join '{place.uri}/subscribers/*.parquet' s using (subscriber)
        """
        )
        .fetchall()
    )
    owners = w.interests.owners()
    assert w.thresholds is not None
    held = w.thresholds[owners]
    expected = (
        w.pairs,
        int(w.rates[w.interests.topics].sum()),
        w.subscriber_names[int(owners[0])],
        w.subscriber_names[int(owners[-1])],
        int(held[held >= 0].sum()),
    )
    assert pairs == [expected]


def test_the_columns_have_the_types_that_are_promised(tmp_path: Path) -> None:
    written = Place(str(tmp_path / "w"))
    w = Workload.from_pairs(topics=[0], subscribers=["u"], rates=[1])
    extra: Any = {"thresholds": np.zeros(1, np.int64), "places": np.zeros((1, 2))}
    write_workload(replace(w, **extra), written)
    described = {
        table: {
            field.name: str(field.type)
            for field in pq.read_schema(Path(written.uri, table, "part-00000.parquet"))
        }
        for table in ("topics", "interests", "subscribers")
    }
    assert described == {
        "topics": {"topic": "int32", "name": "string", "rate": "int64"},
        "interests": {
            "subscriber": "int64",
            "topics": "list<element: int32 not null>",
        },
        "subscribers": {
            "subscriber": "int64",
            "name": "string",
            "threshold": "int64",
            "x": "double",
            "y": "double",
        },
    }
