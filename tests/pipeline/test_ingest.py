"""Raw files in, a workload out: checked against an independent construction."""

import random
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.pipeline.raw import WRITERS, Pair, Rate, expected, write_csv

from brokerwise.model.errors import InputError
from brokerwise.model.workload import NO_THRESHOLD, Workload
from brokerwise.pipeline.ingest import job, sources
from brokerwise.pipeline.ingest.exchange import Buckets, read_split
from brokerwise.pipeline.ingest.job import Ingested, ingest
from brokerwise.pipeline.ingest.options import DROP, IngestOptions
from brokerwise.pipeline.ingest.reasons import Tally
from brokerwise.pipeline.ingest.sources import PAIRS, find_sources
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.storage.place import Place
from brokerwise.storage.workload import read_workload, write_workload

ODD_NAMES = ["10", "9", "é", "z", "日本", "🎈", "a b", "x" * 1024, "1e3", "-", "A"]


def trace(seed: int, pairs: int = 300) -> tuple[list[Pair], list[Rate]]:
    """Some pairs, with repeats, and rates of topics that are not all wanted."""
    rng = random.Random(seed)
    topics = [f"t{i}" for i in range(30)]
    people = [f"u{rng.randrange(10 ** rng.randrange(1, 12))}" for _ in range(40)]
    drawn = [(rng.choice(topics), rng.choice(people)) for _ in range(pairs)]
    return drawn, [(t, rng.choice([0, 1, 5, 5, 1000, 2**40])) for t in topics]


def run(
    spark: SparkSession, out: Path, force: bool = False, **options: Any
) -> Ingested:
    options = {k: (str(v),) if isinstance(v, Path) else v for k, v in options.items()}
    return ingest(
        IngestOptions(**options),
        Place(str(out)),
        session=lambda: nullcontext(spark),
        progress=Stopwatch(),
        force=force,
    )


def digest_of(workload: Workload, folder: Path) -> str:
    return write_workload(workload, Place(str(folder / "expected"))).digest


def rejected(out: Path) -> list[dict[str, Any]]:
    rows = [
        r
        for f in sorted((out / "rejected").iterdir())
        for r in pq.read_table(f).to_pylist()
    ]
    return sorted(rows, key=lambda r: (r["file"], r["line"]))


@pytest.fixture
def small_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut even small files into many splits and ranges."""
    monkeypatch.setattr(sources, "SMALLEST_SPLIT", 2000)
    monkeypatch.setattr(sources, "LARGEST_SPLIT", 2000)
    monkeypatch.setattr(job, "BYTES_PER_RANGE", 4000)


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_the_same_workload(
    spark: SparkSession, tmp_path: Path, ending: str
) -> None:
    pairs, rates = trace(1)
    write = WRITERS[ending]
    write(tmp_path / f"pairs{ending}", ["topic", "subscriber"], pairs)
    write(tmp_path / f"rates{ending}", ["topic", "rate"], rates)
    ingested = run(
        spark,
        tmp_path / "w",
        pairs=tmp_path / f"pairs{ending}",
        rates=tmp_path / f"rates{ending}",
    )
    wanted = expected(pairs, rates)
    assert ingested.header.digest == digest_of(wanted, tmp_path)
    assert ingested.duplicate_pairs == len(pairs) - len(set(pairs))
    assert ingested.rejected == {"pairs": 0, "rates": 0}
    read = read_workload(Place(str(tmp_path / "w")), verify=True)
    assert list(read.topic_names) == list(wanted.topic_names)
    assert list(read.subscriber_names) == list(wanted.subscriber_names)
    assert read.interests.topics.tolist() == wanted.interests.topics.tolist()


@pytest.mark.usefixtures("small_splits")
def test_one_file_or_twenty_in_any_order_give_the_same_workload(
    spark: SparkSession, tmp_path: Path
) -> None:
    pairs, rates = trace(2, pairs=1000)
    write_csv(tmp_path / "one.csv", ["topic", "subscriber"], pairs)
    write_csv(tmp_path / "rates.csv", ["topic", "rate"], rates)
    shuffled = random.Random(3).sample(pairs, len(pairs))
    (tmp_path / "twenty").mkdir()
    (tmp_path / "rates").mkdir()
    for number in range(20):
        some = shuffled[number::20]
        write_csv(tmp_path / f"twenty/{number}.csv", ["topic", "subscriber"], some)
    for number in range(3):
        write_csv(tmp_path / f"rates/{number}.csv", ["topic", "rate"], rates[number::3])
    one = run(
        spark, tmp_path / "a", pairs=tmp_path / "one.csv", rates=tmp_path / "rates.csv"
    )
    twenty = run(
        spark, tmp_path / "b", pairs=tmp_path / "twenty", rates=tmp_path / "rates"
    )
    assert one.header.digests == twenty.header.digests
    assert one.header.digest == digest_of(expected(pairs, rates), tmp_path)


@pytest.mark.usefixtures("small_splits")
def test_names_of_any_kind_keep_their_byte_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    pairs = [(t, s) for t in ODD_NAMES for s in ODD_NAMES]
    rates = [(t, 7) for t in ODD_NAMES]
    write_csv(tmp_path / "p.csv", ["topic", "subscriber"], pairs)
    write_csv(tmp_path / "r.csv", ["topic", "rate"], rates)
    ingested = run(
        spark, tmp_path / "w", pairs=tmp_path / "p.csv", rates=tmp_path / "r.csv"
    )
    read = read_workload(Place(str(tmp_path / "w")), verify=True)
    in_order = sorted(ODD_NAMES, key=str.encode)
    assert list(read.topic_names) == in_order
    assert list(read.subscriber_names) == in_order
    assert ingested.header.digest == digest_of(expected(pairs, rates), tmp_path)


def test_more_subscribers_than_a_block_are_cut_at_block_boundaries(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "LARGEST_SPLIT", 500_000)
    monkeypatch.setattr(sources, "SMALLEST_SPLIT", 500_000)
    monkeypatch.setattr(job, "BYTES_PER_RANGE", 300_000)
    rng = np.random.default_rng(4)
    people = rng.permutation(150_000)
    topics = rng.integers(0, 1000, len(people))
    pairs = [(f"t{t}", f"u{s}") for t, s in zip(topics, people, strict=True)]
    rates = [(f"t{t}", int(r)) for t, r in enumerate(rng.integers(0, 50, 1000))]
    write_csv(tmp_path / "p.csv", ["topic", "subscriber"], pairs)
    write_csv(tmp_path / "r.csv", ["topic", "rate"], rates)
    ingested = run(
        spark, tmp_path / "w", pairs=tmp_path / "p.csv", rates=tmp_path / "r.csv"
    )
    assert ingested.header.subscribers == 150_000
    assert ingested.header.digest == digest_of(expected(pairs, rates), tmp_path)
    groups = pq.ParquetFile(
        tmp_path / "w" / "interests" / "part-00000.parquet"
    ).metadata
    assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [
        65_536,
        65_536,
        18_928,
    ]


def test_an_empty_trace_is_an_empty_workload(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "p.csv").write_text("topic,subscriber\n")
    (tmp_path / "r.csv").write_text("")
    ingested = run(
        spark, tmp_path / "w", pairs=tmp_path / "p.csv", rates=tmp_path / "r.csv"
    )
    assert (ingested.header.topics, ingested.header.pairs) == (0, 0)
    assert read_workload(Place(str(tmp_path / "w")), verify=True).subscribers == 0


def two_files(
    folder: Path, pairs: Sequence[str], rates: Sequence[str]
) -> tuple[Path, Path]:
    (folder / "p.csv").write_bytes(
        b"".join(line.encode("latin-1") + b"\n" for line in pairs)
    )
    (folder / "r.csv").write_text("".join(line + "\n" for line in rates))
    return folder / "p.csv", folder / "r.csv"


def test_bad_rows_are_kept_aside_each_with_its_reason(
    spark: SparkSession, tmp_path: Path
) -> None:
    pairs, rates = two_files(
        tmp_path,
        ["a,u1", "b", "a,", ",u2", "a,b,c", "a,\xff\xfe", '"a,u3', "", "b,u1", "b,u1"],
        ["a,1", "b,x", "c,-3", "d,9223372036854775808", "b,2", "e,", "f,1.5"],
    )
    ingested = run(spark, tmp_path / "w", pairs=pairs, rates=rates, max_rejected=1.0)
    assert ingested.rows == {"pairs": 9, "rates": 7}
    assert ingested.rejected == {"pairs": 6, "rates": 5}
    assert ingested.duplicate_pairs == 1
    assert [(r["line"], r["reason"]) for r in rejected(tmp_path / "w")] == [
        (2, "1 column, expected 2 (topic,subscriber)"),
        (3, "empty subscriber"),
        (4, "empty topic"),
        (5, "3 columns, expected 2 (topic,subscriber)"),
        (6, "subscriber is not valid UTF-8"),
        (7, "quote not closed"),
        (2, "rate is not a whole number"),
        (3, "negative rate"),
        (4, "rate over 9,223,372,036,854,775,807"),
        (6, "empty rate"),
        (7, "rate is not a whole number"),
    ]
    assert [r["text"] for r in rejected(tmp_path / "w")][:2] == ["b", "a,"]
    assert ingested.header.topics == 2
    assert ingested.header.pairs == 2


def test_too_many_bad_rows_are_an_error_that_shows_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    pairs, rates = two_files(tmp_path, ["a,u1", "b", "a,", "b", "b,u1"], ["a,1", "b,1"])
    with pytest.raises(InputError) as caught:
        run(spark, tmp_path / "w", pairs=pairs, rates=rates)
    assert "3 of 5 rows of" in caught.value.message
    assert "(60 %, limit 1 %); nothing was written" in caught.value.message
    assert caught.value.details == (
        '2  line 2: 1 column, expected 2 (topic,subscriber): "b"',
        '1  line 3: empty subscriber: "a,"',
    )
    assert "--max-rejected 60%" in caught.value.hint
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.csv", "r.csv"]


def test_a_topic_without_a_rate_is_an_error_dropped_or_given_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    pairs, rates = two_files(tmp_path, ["a,u1", "x,u1", "y,u2", "y,u3"], ["a,1"])
    with pytest.raises(
        InputError, match=r'3 pairs want a topic .* \("x", "y", \.\.\.\)'
    ):
        run(spark, tmp_path / "w", pairs=pairs, rates=rates)
    dropped = run(spark, tmp_path / "d", pairs=pairs, rates=rates, missing_rate=DROP)
    assert (dropped.header.pairs, dropped.dropped_pairs) == (1, 3)
    given = run(spark, tmp_path / "g", pairs=pairs, rates=rates, missing_rate=5)
    read = read_workload(Place(str(tmp_path / "g")))
    assert list(read.topic_names) == ["x", "y", "a"]
    assert read.rates.tolist() == [5, 5, 1]
    assert given.rows == {"rates": 1, "pairs": 4}
    assert given.header.pairs == 4


def test_rates_that_disagree_keep_the_largest_and_reject_the_rest(
    spark: SparkSession, tmp_path: Path
) -> None:
    pairs, rates = two_files(tmp_path, ["a,u"], ["a,3", "a,7", "b,1", "a,7", "b,1"])
    ingested = run(spark, tmp_path / "w", pairs=pairs, rates=rates, max_rejected=0.5)
    assert ingested.duplicate_rates == 2
    assert [(r["line"], r["text"]) for r in rejected(tmp_path / "w")] == [(1, "a,3")]
    assert read_workload(Place(str(tmp_path / "w"))).rates.tolist() == [7, 1]
    with pytest.raises(InputError, match="1 of 5 rows"):
        run(spark, tmp_path / "v", pairs=pairs, rates=rates)


def test_events_are_counted_over_their_span(
    spark: SparkSession, tmp_path: Path
) -> None:
    pairs, events = two_files(
        tmp_path,
        ["a,u", "b,u"],
        [
            "topic,time,bytes",
            "a,2013-01-09T00:00:00Z,10",
            "a,1357689610.5,20",
            "b,1357689603,5",
        ],
    )
    counted = run(spark, tmp_path / "n", pairs=pairs, events=events)
    assert counted.header.period_seconds == 11
    assert read_workload(Place(str(tmp_path / "n"))).rates.tolist() == [2, 1]
    summed = run(spark, tmp_path / "b", pairs=pairs, events=events, by_bytes=True)
    assert summed.header.message_bytes == 1
    assert read_workload(Place(str(tmp_path / "b"))).rates.tolist() == [30, 5]
    longer = run(spark, tmp_path / "l", pairs=pairs, events=events, period_seconds=60)
    assert longer.header.period_seconds == 60
    with pytest.raises(InputError, match="the events span 11 s"):
        run(spark, tmp_path / "s", pairs=pairs, events=events, period_seconds=10)


def test_subscribers_may_have_thresholds_places_and_no_pairs(
    spark: SparkSession, tmp_path: Path
) -> None:
    pairs, rates = two_files(tmp_path, ["a,u", "a,v"], ["a,3"])
    who = tmp_path / "s.csv"
    who.write_text(
        "name,threshold,x,y\nu,5,1.5,-2\nlonely,,,\nu,5,1.5,-2\nu,9,1,1\nw,0,0,0\n"
    )
    ingested = run(
        spark,
        tmp_path / "w",
        pairs=pairs,
        rates=rates,
        subscribers=who,
        max_rejected=0.2,
    )
    read = read_workload(Place(str(tmp_path / "w")), verify=True)
    assert list(read.subscriber_names) == ["lonely", "u", "v", "w"]
    assert read.thresholds is not None and read.places is not None
    assert read.thresholds.tolist() == [NO_THRESHOLD, 5, NO_THRESHOLD, 0]
    assert read.places[1].tolist() == [1.5, -2.0]
    assert np.isnan(read.places[0]).all()
    assert ingested.rejected["subscribers"] == 1
    assert [r["line"] for r in rejected(tmp_path / "w")] == [5]
    assert read.interests.of(0).tolist() == []


def test_a_damaged_gzip_file_is_named(spark: SparkSession, tmp_path: Path) -> None:
    pairs, rates = trace(5, pairs=20_000)
    WRITERS[".csv.gz"](tmp_path / "p.csv.gz", ["topic", "subscriber"], pairs)
    write_csv(tmp_path / "r.csv", ["topic", "rate"], rates)
    whole = (tmp_path / "p.csv.gz").read_bytes()
    (tmp_path / "p.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"p\.csv\.gz is damaged"):
        run(
            spark, tmp_path / "w", pairs=tmp_path / "p.csv.gz", rates=tmp_path / "r.csv"
        )


def test_sums_that_do_not_fit_in_64_bits_are_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    largest = 2**63 - 1
    pairs, rates = two_files(tmp_path, ["a,u", "a,v"], [f"a,{largest // 2}"])
    with pytest.raises(InputError, match="total rate of all topics and pairs"):
        run(spark, tmp_path / "w", pairs=pairs, rates=rates)
    pairs, rates = two_files(tmp_path, ["a,u"], [f"a,{largest}", f"b,{largest}"])
    with pytest.raises(InputError, match="total rate"):
        run(spark, tmp_path / "w", pairs=pairs, rates=rates)
    assert not (tmp_path / "w").exists()
    pairs, rates = two_files(tmp_path, [], [f"a,{largest}"])
    assert run(spark, tmp_path / "w", pairs=pairs, rates=rates).header.topics == 1


def test_input_that_changes_or_goes_while_it_is_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_text("a,u\n" * 100)
    options = IngestOptions(pairs=(str(file),), rates=("r",))
    [source] = find_sources(PAIRS, options.pairs, options.reading(PAIRS), 0)
    split = sources.Split(source, 0, source.size, source.size)

    def problem() -> str:
        tally = Tally()
        list(read_split(split, Buckets(1, 1), tally, lambda *_: iter(())))
        return tally.problem

    assert problem() == ""
    file.write_text("a,u\n" * 10)
    assert problem() == f"{file} is damaged: it ends at byte 40, but had 400 before"
    file.unlink()
    assert problem() == f"{file} is no longer there"


def test_output_among_the_input_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    _, rates = two_files(tmp_path, ["a,u"], ["a,3"])
    with pytest.raises(InputError, match=r"is in .*, which is read"):
        run(spark, tmp_path / "w", pairs=tmp_path, rates=rates)


def test_what_is_there_is_replaced_only_by_force(
    spark: SparkSession, tmp_path: Path
) -> None:
    pairs, rates = two_files(tmp_path, ["a,u"], ["a,3"])
    first = run(spark, tmp_path / "w", pairs=pairs, rates=rates)
    two_files(tmp_path, ["a,u", "a,v"], ["a,3"])
    with pytest.raises(InputError, match="exists already"):
        run(spark, tmp_path / "w", pairs=pairs, rates=rates)
    assert read_workload(Place(str(tmp_path / "w")), verify=True).pairs == 1
    second = run(spark, tmp_path / "w", force=True, pairs=pairs, rates=rates)
    assert second.header.digest != first.header.digest
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.csv", "r.csv", "w"]


def test_several_rates_of_a_topic_become_what_was_asked_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    pairs, rates = two_files(
        tmp_path, ["a,u", "b,u", "c,u"], ["a,5", "a,2", "b,1", "b,1", "c,9", "a,5"]
    )
    given: dict[str, Any] = {"pairs": pairs, "rates": rates}

    def found(repeated: str, **more: Any) -> tuple[dict[str, int], Ingested]:
        out = tmp_path / repeated
        done = run(spark, out, **given, repeated_rates=repeated, **more)
        read = read_workload(Place(str(out)))
        names = list(read.topic_names)
        return dict(zip(names, read.rates.tolist(), strict=True)), done

    summed, done = found("sum")
    assert (summed, done.duplicate_rates) == ({"a": 12, "b": 2, "c": 9}, 3)
    largest, done = found("largest")
    assert (largest, done.duplicate_rates) == ({"a": 5, "b": 1, "c": 9}, 3)
    assert done.rejected["rates"] == 0
    assert done.header.made_from["repeated_rates"] == "largest"
    rejecting, done = found("reject", max_rejected=1.0)
    assert rejecting == largest
    assert (done.rejected["rates"], done.duplicate_rates) == (1, 2)
    with pytest.raises(InputError) as refused:
        found("error", max_rejected=1.0)
    assert refused.value.message == (
        f"{rates}: found another rate for a topic that has one 1 times (first: "
        f"{rates} line 2); nothing was written"
    )
    assert "--repeated-rates sum" in refused.value.hint
    assert not (tmp_path / "error").exists()


@pytest.mark.usefixtures("small_splits")
def test_one_rate_may_do_for_all_topics(spark: SparkSession, tmp_path: Path) -> None:
    pairs, _ = trace(7)
    write_csv(tmp_path / "p.csv", ["topic", "subscriber"], pairs)
    ingested = run(spark, tmp_path / "w", pairs=tmp_path / "p.csv", rate=3)
    named = {topic for topic, _ in pairs}
    wanted = expected(pairs, [(topic, 3) for topic in named])
    assert ingested.header.digest == digest_of(wanted, tmp_path)
    assert ingested.rows == {"pairs": len(pairs)}
    assert (ingested.unwanted_topics, ingested.dropped_subscribers) == (0, 0)
    assert ingested.header.made_from["rate"] == 3


@pytest.mark.usefixtures("small_splits")
def test_who_is_dropped_and_what_nobody_wants_is_counted_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    pairs, rates = trace(8, pairs=1500)
    rated = [*rates[:3], ("nobody's", 4), ("none's", 0)]
    write_csv(tmp_path / "p.csv", ["topic", "subscriber"], pairs)
    write_csv(tmp_path / "r.csv", ["topic", "rate"], rated)
    some = sorted({subscriber for _, subscriber in pairs})[::7]
    write_csv(tmp_path / "s.csv", ["name"], [[name] for name in some])
    given: dict[str, Any] = {"pairs": tmp_path / "p.csv", "rates": tmp_path / "r.csv"}
    done = run(
        spark,
        tmp_path / "w",
        **given,
        subscribers=tmp_path / "s.csv",
        missing_rate=DROP,
    )
    known = {topic for topic, _ in rated}
    kept = {s for t, s in pairs if t in known} | set(some)
    assert done.dropped_subscribers == len({s for _, s in pairs} - kept) > 0
    assert done.header.subscribers == len(kept)
    assert done.unwanted_topics == len(known - {t for t, _ in pairs}) == 2
