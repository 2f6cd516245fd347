"""What Khare et al. print, and our settings: a cell for each piece of work.

"Scalable Edge Computing for Low Latency Data Dissemination in Topic-based
Publish/Subscribe" (SEC 2018). Their data is not public. Ours is of a simulated broker
with four cores, and, where there is measured data, of our own broker on one core.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from brokerwise.latency.models import PAPER, PAPER_200, UNIFIED

PROCESSING_MS = (10.0, 20.0, 30.0, 40.0)
CORES = 4
RATE_EACH = 1.0
MESSAGES = 120
TARGET_MS = 1000.0
K = 6
OPENING = 3
ALONE, ALONE_TEST_SHARE = 180, 0.4
CONFIGURATIONS, TEST_SHARE, VALIDATION = 1000, 0.05, 50
TOPICS = (10, 20, 30, 40, 50, 60, 70)
REQUESTS = 5
OPENINGS_TOPICS = 50
SUBSCRIBERS = 240

BACKGROUND_MS = (72.0, 180.0)
"""Figure 1b: p90 of a topic without and with all the topics beside it."""
THRESHOLDS = {0: 38, 7: 15, 11: 8}
"""Figure 1d: the rate up to which p90 is low, by the number of topics beside it."""
MOST_RATES = {10.0: 78, 20.0: 37, 30.0: 24, 40.0: 20}
"""The largest rate of a topic alone with a p90 within a second, by processing time."""
ACCURACY: Mapping[int, tuple[float, float, float | None]] = {
    1: (0.975, 0.97, None),
    2: (0.987, 0.985, 0.972),
    3: (0.985, 0.978, 0.976),
    4: (0.983, 0.979, 0.984),
    5: (0.981, 0.978, 0.951),
    6: (0.981, 0.956, 0.968),
}
"""R^2 on training, test and validation data: Table I, and the text for k = 1."""
CURVE_ERROR = 0.03
MISSED = {"3": (0.09, 0.13), "4": (0.06, 0.12)}
"""Shares of messages and of topics that miss the target, at most, by figure."""
KINDS = (PAPER, UNIFIED)
FACTOR = 1.27
"""What processing takes over what it is meant to take: so that the largest rates of a
topic alone come out about as theirs."""
DRAWN = (2, 6)
"""Numbers of topics whose predictions are drawn against what is true."""
CURVED = (4, 6)
"""Numbers of topics with a learning curve of the paper's recipe."""
BROKER = ("cores", "messages", "factor")
LEARNED = (*BROKER, "k", "alone", "each", "validation")
"""Fields of a setting that simulated latencies, and what is learned of them, depend
on."""


@dataclass(frozen=True)
class Setting:
    """A broker that is simulated, and how much is done with it.

    Attributes
    ----------
    alone, each, validation
        Configurations of one topic; of every larger number of topics to learn from
        and test on; and of these for validation.
    curve
        Configurations at which learning curves have points, beside all.
    repeats
        Runs that each point of Figure 1 is the median of.
    backgrounds
        Random sets of topics beside one (Figure 1d), for each load.
    splits
        Of measured data.
    """

    cores: int = CORES
    messages: int = MESSAGES
    factor: float = FACTOR
    k: int = K
    alone: int = ALONE
    each: int = CONFIGURATIONS
    validation: int = VALIDATION
    curve: tuple[int, ...] = (100, 200, 400, 700)
    topics: tuple[int, ...] = TOPICS
    requests: int = REQUESTS
    repeats: int = 5
    backgrounds: int = 5
    splits: int = 20

    def chosen(self, names: Sequence[str]) -> dict[str, int | float]:
        """Some of its fields, by name."""
        return {name: getattr(self, name) for name in names}


FULL = Setting()
QUICK = replace(
    FULL,
    each=120,
    validation=24,
    curve=(40, 80),
    topics=(10, 30, 50),
    requests=2,
    repeats=2,
    backgrounds=2,
    splits=2,
)


@dataclass(frozen=True)
class SensitivityCell:
    """A part of Figure 1."""

    part: str
    setting: Setting
    seed: int
    what: ClassVar[str] = "sensitivity"

    @property
    def name(self) -> str:
        return f"sensitivity-{self.part}"

    @property
    def title(self) -> str:
        return f"Figure 1{self.part}"

    def inputs(self) -> dict[str, Any]:
        names = (*BROKER, "repeats", "backgrounds")
        chosen = self.setting.chosen(names)
        return {"what": self.what, "part": self.part, **chosen, "seed": self.seed}


@dataclass(frozen=True)
class LearnCell:
    """A model of simulated data; `topics` is 0 for one model for all numbers of
    topics, and `size` is 0 for all configurations there are to learn from."""

    kind: str
    topics: int
    size: int
    setting: Setting
    seed: int
    what: ClassVar[str] = "learn"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of topics that it learns."""
        return (self.topics,) if self.topics else tuple(range(1, self.setting.k + 1))

    @property
    def name(self) -> str:
        return f"learn-{self.kind}-{self.topics or 'all'}-{self.size or 'all'}"

    @property
    def title(self) -> str:
        of = f"k = {self.topics}" if self.topics else "all k"
        some = f", {self.size} configurations" if self.size else ""
        return f"{self.kind} model, {of}{some}"

    def inputs(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "kind": self.kind,
            "topics": self.topics,
            "size": self.size,
            **self.setting.chosen(LEARNED),
            "seed": self.seed,
        }


@dataclass(frozen=True)
class MeasuredCell:
    """What a kind of model makes of measured data."""

    kind: str
    path: Path
    digest: str
    splits: int
    seed: int
    what: ClassVar[str] = "measured"

    @property
    def name(self) -> str:
        return f"measured-{self.kind}"

    @property
    def title(self) -> str:
        return f"measured data, {self.kind} model"

    def inputs(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "kind": self.kind,
            "digest": self.digest,
            "splits": self.splits,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class PlanCell:
    """One request, planned by every algorithm with one kind of model.

    Attributes
    ----------
    most
        The largest rate of a topic, in the order of the processing times.
    models
        Marks of what was learned, of both kinds: requests follow from both.
    """

    topics: int
    request: int
    kind: str
    most: tuple[int, ...]
    models: tuple[str, ...]
    setting: Setting
    seed: int
    what: ClassVar[str] = "plan"

    @property
    def openings(self) -> tuple[int, ...]:
        """Every k' for Figure 4, else the one of Figure 3."""
        if self.topics == OPENINGS_TOPICS:
            return tuple(range(1, self.setting.k + 1))
        return (min(OPENING, self.setting.k),)

    @property
    def name(self) -> str:
        return f"plan-{self.topics}-{self.request}-{self.kind}"

    @property
    def title(self) -> str:
        return f"{self.topics} topics, request {self.request}, {self.kind} model"

    def inputs(self) -> dict[str, Any]:
        kept = asdict(self)
        del kept["setting"]
        return {"what": self.what, **kept, **self.setting.chosen((*BROKER, "k"))}


Cell = SensitivityCell | LearnCell | MeasuredCell | PlanCell


def bundled_latency() -> Path:
    """Where measured data is that comes with the program."""
    return Path(__file__).parent / "data" / "latency"


def first_cells(setting: Setting, seed: int) -> list[Cell]:
    """All but plans, which need what is learned first; what takes longest comes
    first."""
    whole = [LearnCell(UNIFIED, 0, 0, setting, seed)]
    whole += [LearnCell(PAPER, k, 0, setting, seed) for k in range(1, setting.k + 1)]
    whole += [
        LearnCell(PAPER_200, k, 0, setting, seed) for k in range(2, setting.k + 1)
    ]
    cells: list[Cell] = [*whole, *_curves(setting, seed)]
    cells += [SensitivityCell(part, setting, seed) for part in "abcd"]
    return sorted(cells, key=lambda cell: -work(cell))


def _curves(setting: Setting, seed: int) -> Iterator[LearnCell]:
    for size in setting.curve:
        yield LearnCell(UNIFIED, 0, size, setting, seed)
        for k in CURVED:
            if k <= setting.k:
                yield LearnCell(PAPER, k, size, setting, seed)


def plan_cells(
    setting: Setting, seed: int, most: Mapping[float, int], models: Mapping[str, str]
) -> list[PlanCell]:
    return [
        PlanCell(
            topics,
            request,
            kind,
            tuple(most[p] for p in PROCESSING_MS),
            tuple(models[each] for each in KINDS),
            setting,
            seed,
        )
        for topics in setting.topics
        for request in range(setting.requests)
        for kind in KINDS
    ]


def plans_of(setting: Setting) -> int:
    """How many plan cells there are."""
    return len(setting.topics) * setting.requests * len(KINDS)


def work(cell: Cell) -> float:
    """About how many seconds a cell takes on an idle core, before any was measured."""
    match cell:
        case LearnCell(kind=kind, topics=topics, size=size, setting=setting):
            share = (size or setting.each) / CONFIGURATIONS
            seconds = {1: 1, 2: 3, 3: 6, 4: 10, 5: 16, 6: 90}
            if kind == PAPER_200:
                share /= 10
            return 1 + share * (12 if kind == UNIFIED else seconds.get(topics, 90))
        case SensitivityCell(part=part, setting=setting):
            return {"d": 4.0}.get(part, 0.4) * setting.repeats
        case MeasuredCell(kind=kind, splits=splits):
            return splits * (4.0 if kind == PAPER else 3.0)
        case PlanCell(topics=topics, kind=kind):
            return topics / (50 if kind == PAPER else 20)
