"""Ingest of a Spotify-size trace against DuckDB doing the same job from the same files.

Both number topics by descending rate and name and subscribers by name, merge
duplicate pairs, and write sorted lists, names and rates as Parquet. DuckDB runs in
one process with as many threads as there are cores; it computes no digests and
checks no row. Neither the start of Spark nor of DuckDB is counted.

    python -m benchmarks.ingest [--scale 1] [--repeats 3]
"""

import argparse
import os
import shutil
import tempfile
from pathlib import Path

import duckdb
from benchmarks.measuring import median_seconds, peak_memory, print_line

import brokerwise
from brokerwise.pipeline.session import start_session


def with_duckdb(trace: Path, out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    database = duckdb.connect()
    database.execute(f"SET threads = {os.cpu_count()}")
    database.execute("SET preserve_insertion_order = false")
    database.execute(
        f"""
        CREATE TEMP TABLE topics AS
        SELECT (row_number() OVER (ORDER BY rate DESC, topic) - 1)::INT AS topic,
               topic AS name, rate
        FROM read_csv('{trace}/rates/*.csv', header = true,
                      columns = {{'topic': 'VARCHAR', 'rate': 'BIGINT'}});
        COPY (FROM topics ORDER BY topic)
        TO '{out}/topics.parquet' (COMPRESSION zstd);
        CREATE TEMP TABLE pairs AS
        SELECT DISTINCT t.topic, p.subscriber AS name
        FROM read_csv('{trace}/pairs/*.csv', header = true,
                      columns = {{'topic': 'VARCHAR', 'subscriber': 'VARCHAR'}}) p
        JOIN topics t ON t.name = p.topic;
        CREATE TEMP TABLE subscribers AS
        SELECT row_number() OVER (ORDER BY name) - 1 AS subscriber, name
        FROM (SELECT DISTINCT name FROM pairs);
        COPY (FROM subscribers ORDER BY subscriber)
        TO '{out}/subscribers.parquet' (COMPRESSION zstd);
        COPY (SELECT subscriber, list(topic ORDER BY topic) AS topics
              FROM pairs JOIN subscribers USING (name)
              GROUP BY subscriber ORDER BY subscriber)
        TO '{out}/interests.parquet' (COMPRESSION zstd);
        """
    )
    database.close()


def with_brokerwise(trace: Path, out: Path) -> None:
    brokerwise.ingest(pairs=trace / "pairs", rates=trace / "rates", out=out, force=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        session = start_session()
        trace = work / "trace"
        made = brokerwise.generate("spotify", scale=options.scale, seed=1, out=trace)
        with_brokerwise(trace, work / "ours")  # compiles kernels, warms the caches
        with_duckdb(trace, work / "theirs")
        with peak_memory() as memory:
            ours = median_seconds(
                lambda: with_brokerwise(trace, work / "ours"), options.repeats
            )
        session.stop()
        theirs = median_seconds(
            lambda: with_duckdb(trace, work / "theirs"), options.repeats
        )
    print_line(
        benchmark="ingest",
        pairs=made["pairs"],
        cores=os.cpu_count(),
        ratio_to_duckdb=ours / theirs,
        aim="at most 1.5",
        seconds=ours,
        duckdb_seconds=theirs,
        peak_memory_gb=memory[0] / 1e9,
    )


if __name__ == "__main__":
    main()
