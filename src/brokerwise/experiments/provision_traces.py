"""The workloads of the experiment: generated ones, and graphs that a user has."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from brokerwise.experiments.provision_published import (
    MESSAGE_BYTES,
    PERIOD_SECONDS,
)
from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.pipeline.progress import Progress
from brokerwise.pipeline.session import Session
from brokerwise.storage.place import Place
from brokerwise.storage.workload import WorkloadHeader, read_header

_DAYS = PERIOD_SECONDS // 86_400
MASTODON_UNTIL = np.datetime64("2024-11-02")
"""The day on which the accounts were read."""


@dataclass(frozen=True)
class Trace:
    """A workload of the experiment. `key` names its files; `rates` says what a
    message is, where that needs saying."""

    name: str
    key: str
    title: str
    rates: str
    write: Callable[["Making"], None]


@dataclass(frozen=True)
class Making:
    """Where a workload goes, and what makes it."""

    raw: Path
    out: Place
    session: Session
    progress: Progress
    force: bool

    def ingest(self, **options: Any) -> None:
        from brokerwise.pipeline.ingest.job import ingest
        from brokerwise.pipeline.ingest.options import IngestOptions

        ingest(
            IngestOptions(
                period_seconds=PERIOD_SECONDS, message_bytes=MESSAGE_BYTES, **options
            ),
            self.out,
            session=self.session,
            progress=self.progress,
            force=self.force,
        )


def shaped(name: str, scale: float, seed: int) -> Trace:
    """A generated trace of Spotify's or Twitter's shape."""
    from brokerwise.pipeline.shapes import SHAPES, Size

    size = Size(SHAPES[name], scale)

    def write(making: Making) -> None:
        from brokerwise.pipeline.generate import generate_trace

        generate_trace(
            size,
            seed,
            Place(str(making.raw)),
            session=making.session,
            progress=making.progress,
            force=True,
        )
        pairs, rates = str(making.raw / "pairs"), str(making.raw / "rates")
        making.ingest(pairs=(pairs,), rates=(rates,))

    return Trace(
        name,
        f"{name}-{scale:g}-seed{seed}",
        f"{name.capitalize()}-shaped, scale {scale:g}",
        "",
        write,
    )


def graphs(folder: Path) -> list[Trace]:
    """The graphs of a folder that are known: Mastodon's, crates.io's, npm's.

    Raises InputError if there is none, or a part of one is missing.
    """
    known = (
        ("mastodon_follows*.csv*", "mastodon_accounts*.csv*", mastodon),
        ("crates_deps*.csv*", "crates_topics*.csv*", crates),
        ("npm_dependents*.csv*", "npm_*version_counts*.csv*", npm),
    )
    found = []
    for pairs, rates, trace in known:
        files = [_only(folder, pattern) for pattern in (pairs, rates)]
        if files[0] is None and files[1] is None:
            continue
        if files[0] is None or files[1] is None:
            missing = pairs if files[0] is None else rates
            raise InputError(f"--graphs {folder}: found no {missing}")
        found.append(trace(files[0], files[1]))
    if not found:
        patterns = ", ".join(pairs for pairs, _, _ in known)
        raise InputError(f"--graphs {folder}: found none of {patterns}")
    return found


def _only(folder: Path, pattern: str) -> Path | None:
    found = sorted(folder.glob(pattern))
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise InputError(f"--graphs {folder}: expected one {pattern}, found {names}")
    return found[0] if found else None


def mastodon(follows: Path, accounts: Path) -> Trace:
    """Who follows whom; what an account posts in ten days, on average."""

    def write(making: Making) -> None:
        table = csv.read_csv(accounts)
        followed = _distinct(follows, "followee")
        table = table.filter(pc.is_in(table["id"], value_set=followed))
        created = table["created_date"].cast(pa.string()).to_numpy(False)
        rates = posts_per_period(
            table["statuses_count"].to_numpy(), created.astype("datetime64[D]")
        )
        _ingest_rated(
            making, follows, ("followee", "follower"), table["id"].to_numpy(), rates
        )

    return Trace(
        "mastodon",
        "mastodon",
        "Mastodon follows",
        f"rate: statuses_count * {_DAYS} / days from created_date to "
        f"{MASTODON_UNTIL}, at least {_DAYS} of them; rounded, but 1 for whoever "
        "has ever posted",
        write,
    )


def posts_per_period(statuses: Int64s, created: Any) -> Int64s:
    """The mean number of posts in ten days, for whoever has any at least one.

    An account younger than the period has posted what it has in one period.
    """
    days = np.maximum((MASTODON_UNTIL - created).astype(np.int64), _DAYS)
    rounded = (2 * statuses * _DAYS + days) // (2 * days)
    rates: Int64s = np.where(statuses > 0, np.maximum(rounded, 1), 0)
    return rates


def crates(depends: Path, topics: Path) -> Trace:
    """Crates subscribe to those they depend on; all releases so far are messages."""

    def write(making: Making) -> None:
        table = csv.read_csv(topics)
        names, rates = table["crate_id"].to_numpy(), table["n_releases"].to_numpy()
        columns = ("topic_crate", "subscriber_crate")
        _ingest_rated(making, depends, columns, names, rates)

    note = "rate: all releases so far, as if they were of ten days"
    return Trace("crates", "crates", "crates.io dependencies", note, write)


def npm(dependents: Path, versions: Path) -> Trace:
    """As crates, for the packages whose numbers of versions are known."""

    def write(making: Making) -> None:
        table = csv.read_csv(versions)
        names = table["topic_pkg"].to_numpy()
        rates = table["n_versions_all_time"].to_numpy()
        columns = ("topic_pkg", "subscriber_pkg")
        _ingest_rated(making, dependents, columns, names, rates)

    note = (
        "rate: all versions so far, as if they were of ten days; dependencies on "
        "packages whose versions are not known are left out"
    )
    return Trace("npm", "npm", "npm dependents", note, write)


def _distinct(path: Path, column: str) -> pa.Array:
    convert = csv.ConvertOptions(include_columns=[column])
    return pc.unique(csv.read_csv(path, convert_options=convert)[column])


def _ingest_rated(
    making: Making, pairs: Path, columns: tuple[str, str], topics: Any, rates: Any
) -> None:
    """Write rates beside and ingest them; pairs without one are dropped."""
    making.raw.mkdir(parents=True, exist_ok=True)
    file = making.raw / "rates.csv"
    csv.write_csv(pa.table({"topic": topics, "rate": rates}), file)
    making.ingest(
        pairs=(str(pairs),),
        rates=(str(file),),
        columns={
            "topic": ("topic", columns[0]),
            "subscriber": (columns[1],),
            "rate": ("rate",),
        },
        missing_rate="drop",
    )


def prepare(
    traces: list[Trace],
    root: Path,
    session: Session,
    progress: Progress,
    *,
    force: bool = False,
) -> dict[str, tuple[Place, WorkloadHeader]]:
    """Make the workloads that are not there yet, below `root`; Spark is started for
    them alone, and ended. What they are made from is not kept."""
    places = {trace.key: Place(str(root / "workloads" / trace.key)) for trace in traces}
    with _one_session(session) as opened:
        for trace in traces:
            place = places[trace.key]
            if (place / "workload.json").exists() and not force:
                continue
            raw = root / "raw" / trace.key
            shutil.rmtree(raw, ignore_errors=True)
            trace.write(Making(raw, place, opened, progress, force))
            shutil.rmtree(raw.parent, ignore_errors=True)
    return {key: (place, read_header(place)) for key, place in places.items()}


@contextmanager
def _one_session(session: Session) -> Iterator[Session]:
    """A session that starts when it is first asked for, and serves all who ask."""
    with ExitStack() as stack:
        opened: list[Any] = []

        def ask() -> Any:
            if not opened:
                opened.append(stack.enter_context(session()))
            return nullcontext(opened[0])

        yield ask
