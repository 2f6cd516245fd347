"""What Setty et al. measured (ICDCS 2014; University of Oslo, research report 436),
and the workloads of our experiment.

Two traces: a tenth of Spotify's users at one of its sites, and a hundredth of
Twitter's. Figures 2 and 3 are bars whose values the text gives only in part: what is
here is what the text says. Our workloads are generated ones of their shapes, and graphs
that a user has.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.workload import Workload
from brokerwise.pipeline.progress import Progress
from brokerwise.pipeline.session import Session
from brokerwise.storage.place import Place
from brokerwise.storage.workload import WorkloadHeader, read_header

THRESHOLDS = (10, 100, 1000)
NAIVE_VMS = 100
NAIVE_THRESHOLD = 100
"""Each trace gets the capacity at which the naive plan needs so many c3.large at this
threshold: the paper has about a hundred, with a scaling that it does not give."""

GIGABYTE_USD = 0.12
PERIOD_SECONDS = 864_000
MESSAGE_BYTES = 200


@dataclass(frozen=True)
class VmType:
    """A rented machine; `times` is its bandwidth in units of the smaller one's."""

    name: str
    hour_usd: float
    times: int

    def fleet(self, capacity: int) -> Fleet:
        """As many as it takes, if the smaller type carries `capacity`."""
        kind = BrokerType(self.name, self.times * capacity, hour_usd=self.hour_usd)
        return Fleet.types(kind, gigabyte_usd=GIGABYTE_USD)


VM_TYPES = (VmType("c3.large", 0.15, 1), VmType("c3.xlarge", 0.30, 2))


@dataclass(frozen=True)
class Published:
    """Figures of one trace, in percent unless said otherwise.

    Attributes
    ----------
    savings
        Cost that greedy selection saves over random, both with first-fit packing:
        of each VM type, at each threshold.
    steps
        What each further optimisation takes off cost and bandwidth, in the text's
        words; negative: it adds to it.
    whole
        The most that all of them together take off the naive plan's cost.
    above_bound
        Their cost above their bound, "in many cases".
    faster
        How many times faster `custom` packs than `first-fit`, at most.
    seconds
        What the text says of run times.
    """

    savings: Mapping[str, Mapping[int, float]]
    steps: Mapping[str, Mapping[str, str]]
    whole: float
    above_bound: float
    faster: int
    seconds: str

    def as_json(self) -> dict[str, Any]:
        found = asdict(self)
        found["savings"] = {
            kind: {str(t): saved for t, saved in by.items()}
            for kind, by in self.savings.items()
        }
        return found


PUBLISHED = {
    "spotify": Published(
        savings={
            "c3.large": {10: 33.0, 100: 27.6, 1000: 10.9},
            "c3.xlarge": {10: 32.7, 100: 17.6, 1000: 10.8},
        },
        steps={
            "cost": {
                "(b)": "-1.6 to 3.5",
                "(c)": "up to 2.5",
                "(d)": "up to 10.7",
                "(e)": "up to 1.2",
            },
            "bandwidth": {"(b)": "8 to 10"},
        },
        whole=38.0,
        above_bound=15.0,
        faster=10,
        seconds="stage 1: greedy at most 2 s slower than random; all under 30 s",
    ),
    "twitter": Published(
        savings={
            "c3.large": {10: 71.0, 100: 51.4, 1000: 29.1},
            "c3.xlarge": {10: 70.0, 100: 51.9, 1000: 20.3},
        },
        steps={
            "cost": {
                "(b)": "slight",
                "(c)": "up to 2.4",
                "(d)": "up to 9.5",
                "(e)": "up to 0.2",
            },
            "bandwidth": {"(b)": "8 in a case"},
        },
        whole=74.0,
        above_bound=15.0,
        faster=1000,
        seconds=(
            "stage 1: random up to 986 s, greedy up to 1471 s; at threshold 1000 on "
            "c3.large, greedy + custom 1484.7 s, random + first-fit 2186 s"
        ),
    ),
}

# What ours is to come to: bandwidth over the certified bound on it.
AIMS = {"spotify": 1.005, "twitter": 1.01, "mastodon": 1.005}
SPARE_VMS = 1
"""And brokers: at most so many more than could carry that bound."""


# Appendix D: what a trace looks like


TWITTER_FACTS = {
    "topics with fewer than 10 events": 4e6 / 8e6,
    "topics with more than 1,000 events": 46_000 / 8e6,
    "topics with more than 10,000 followers": 4_000 / 8e6,
    "subscribers with more than 10,000 topics": 550 / 30e6,
    "subscribers that receive more than 7,000 events": 3e6 / 30e6,
    "of all events, received by the largest subscriber": 0.04,
}
"""Shares of the trace of 8 million topics and 30 million subscribers. They have no
size; but a small trace has too few to show the rarest."""


def trace_facts(workload: Workload) -> dict[str, float]:
    """The same shares of a workload."""
    rates, received = workload.rates, _received(workload)
    followings = np.diff(workload.interests.offsets)
    shares = (
        _share(rates < 10),
        _share(rates > 1_000),
        _share(workload.followers() > 10_000),
        _share(followings > 10_000),
        _share(received > 7_000),
        int(received.max(initial=0)) / max(1, int(rates.sum())),
    )
    return dict(zip(TWITTER_FACTS, shares, strict=True))


def _share(which: Any) -> float:
    return float(np.mean(which)) if len(which) else 0.0


def _received(workload: Workload) -> Int64s:
    interests = workload.interests
    totals = np.zeros(interests.pairs + 1, np.int64)
    np.cumsum(workload.rates[interests.topics], out=totals[1:])
    received: Int64s = np.diff(totals[interests.offsets])
    return received


_DAYS = PERIOD_SECONDS // 86_400
MASTODON_UNTIL = np.datetime64("2024-11-02")
"""The day on which the accounts were read."""


# Workloads


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
