"""Re-planning of workload directories, judged by names and without our kernels."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.planners.provision.oracle import can_be_served
from tests.tiers import examples, some

from brokerwise.auditing.memory import audit_directory, violations
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.interests import BLOCK
from brokerwise.model.plan import Plan, Status
from brokerwise.model.workload import Workload
from brokerwise.pipeline.provision.engines import Engine, MemoryEngine, SparkEngine
from brokerwise.pipeline.provision.job import Target, provision_directory
from brokerwise.pipeline.provision.replan import Replanned, replan_directory
from brokerwise.planners.provision import replan as planner
from brokerwise.planners.provision.portfolio import SELECTIONS, Options
from brokerwise.planners.provision.solve import Problem, solve
from brokerwise.storage import subscribers as parts
from brokerwise.storage.place import Place
from brokerwise.storage.plan import read_plan, read_plan_header
from brokerwise.storage.workload import write_workload

Pairs = set[tuple[str, str]]
Where = dict[tuple[str, str], int]


def fleet(capacity: int, *, name: str = "b", count: int | None = None) -> Fleet:
    return Fleet.types(BrokerType(name, capacity, count, 0.15), gigabyte_usd=0.12)


def workload_of(pairs: Pairs, rates: dict[str, int]) -> Workload:
    ordered = sorted(pairs)
    return Workload.from_pairs(
        topics=[t for t, _ in ordered],
        subscribers=[v for _, v in ordered],
        rates=rates,
    )


def places(plan: Plan, workload: Workload) -> Where:
    """The broker of every pair, by names."""
    brokers = plan.placement.brokers_of(plan.selected)
    owners = plan.selected.owners()
    topics, people = list(workload.topic_names), list(workload.subscriber_names)
    return {
        (topics[t], people[v]): b
        for t, v, b in zip(
            plan.selected.topics.tolist(),
            owners.tolist(),
            brokers.tolist(),
            strict=True,
        )
    }


def provision(place: Place, out: Path, target: Target, options: Options) -> Plan:
    (made,) = provision_directory(MemoryEngine(place), [target], options)
    assert made.header is not None
    return made.plan


def check_counts(made: Replanned, before: Where, after: Where) -> None:
    """Moves, kept, added and removed, against dictionaries of names."""
    assert made.header is not None
    origins = made.plan.options["brokers_from"]
    old = {pair: origins[broker] for pair, broker in after.items()}
    both = before.keys() & after.keys()
    assert made.moves == sum(old[pair] != before[pair] for pair in both)
    assert made.kept == len(both) - made.moves
    assert made.added == len(after.keys() - before.keys())
    assert made.removed == len(before.keys() - after.keys())
    known = [b for b in origins if b >= 0]
    assert len(set(known)) == len(known)
    assert made.brokers_added == origins.count(-1)


class Scene:
    """A plan for a workload, in a directory of its own."""

    def __init__(
        self,
        root: Path,
        workload: Workload,
        threshold: int,
        fleet: Fleet,
        options: Options | None = None,
    ) -> None:
        self.root, self.options = root, options or Options(rounds=0)
        self.before = Place(str(root / "before"))
        self.threshold, self.fleet = threshold, fleet
        self.workload = workload
        write_workload(workload, self.before)
        self.first = Place(str(root / "first"))
        target = Target(threshold, fleet, self.first)
        self.plan = provision(self.before, root, target, self.options)

    def replan(
        self,
        workload: Workload,
        max_moves: int | None,
        *,
        name: str = "second",
        fleet: Fleet | None = None,
        options: Options | None = None,
        force: bool = False,
    ) -> Replanned:
        now = Place(str(self.root / f"now-{name}"))
        write_workload(workload, now, force=True)
        return replan_directory(
            MemoryEngine(now),
            Target(self.threshold, fleet or self.fleet, Place(str(self.root / name))),
            options or self.options,
            previous=self.first,
            max_moves=max_moves,
            force=force,
        )

    def judge(self, made: Replanned, workload: Workload) -> None:
        """Everything that must hold of any plan that was made."""
        assert violations(made.plan, workload) == []
        before = places(self.plan, self.workload)
        check_counts(made, before, places(made.plan, workload))
        assert made.cost_before == self.plan.objective


NAMES = st.sampled_from([f"t{i}" for i in range(8)])
PEOPLE = st.sampled_from(["a", "b", "ä", "z", "c1", "c10", "c2", "日本", "A", "~"])
PAIRS = st.sets(st.tuples(NAMES, PEOPLE), min_size=1, max_size=40)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Workload, Workload, int, Fleet]:
    """A workload, what has become of it, a threshold and a fleet."""
    every = st.fixed_dictionaries({f"t{i}": st.integers(0, 20) for i in range(8)})
    rates = draw(every)
    pairs = draw(PAIRS)
    changed = dict(rates)
    for name in draw(st.sets(NAMES, max_size=4)):
        changed[name] = draw(st.integers(0, 30))
    now = (pairs | draw(st.sets(st.tuples(NAMES, PEOPLE), max_size=8))) - draw(
        st.sets(st.sampled_from(sorted(pairs)), max_size=8)
    )
    gone_topics = draw(st.sets(NAMES, max_size=2))
    gone_people = draw(st.sets(PEOPLE, max_size=2))
    now = {(t, v) for t, v in now if t not in gone_topics and v not in gone_people}
    for name in gone_topics:
        changed.pop(name)
    largest = max(*rates.values(), *changed.values(), 1)
    capacity = draw(st.integers(2 * largest, 6 * largest + 40))
    return (
        workload_of(pairs, rates),
        workload_of(now, changed),
        draw(st.integers(0, 60)),
        fleet(capacity),
    )


@settings(max_examples=examples(40))
@given(
    history=histories(),
    max_moves=st.none() | st.integers(0, 10),
    selection=st.sampled_from(SELECTIONS),
)
def test_any_change_gives_a_sound_plan_within_its_moves(
    tmp_path_factory: pytest.TempPathFactory,
    history: tuple[Workload, Workload, int, Fleet],
    max_moves: int | None,
    selection: str,
) -> None:
    before, now, threshold, fleet = history
    root = tmp_path_factory.mktemp("history")
    scene = Scene(root, before, threshold, fleet, Options(selection=selection))
    made = scene.replan(now, max_moves)
    if made.header is None:
        assert max_moves is not None and made.plan.status is Status.UNKNOWN
        assert not (root / "second").exists()
        enough = int(made.plan.reason.rsplit(" ", 1)[1].rstrip("."))
        assert enough > max_moves
        made = scene.replan(now, enough)
        max_moves = enough
    scene.judge(made, now)
    assert max_moves is None or made.moves <= max_moves
    if max_moves is None and made.cost_fresh is not None:
        assert made.plan.cost <= made.cost_fresh * 1.0011
    shutil.rmtree(root)


@st.composite
def tight_histories(draw: st.DrawFn) -> tuple[Workload, Workload, int, Fleet]:
    """Few pairs, and no more brokers than they need or one more."""
    pair = st.tuples(st.sampled_from("ab"), st.sampled_from("uvwx"))
    rates = {"a": draw(st.integers(2, 9)), "b": draw(st.integers(1, 6))}
    before = draw(st.sets(pair, min_size=1, max_size=5))
    now = before | draw(st.sets(pair, max_size=3))
    later = rates | {"a": rates["a"] + draw(st.integers(0, 2))}
    largest = max(later.values())
    capacity = draw(st.integers(2 * largest, 5 * largest))
    made = solve(Problem(workload_of(before, rates), fleet(capacity), 12))
    count = max(1, len(made.brokers)) + draw(st.integers(0, 1))
    return (
        workload_of(before, rates),
        workload_of(now, later),
        12,
        fleet(capacity, count=count),
    )


@settings(max_examples=examples(15))
@given(history=tight_histories(), max_moves=st.integers(0, 3))
def test_what_is_infeasible_is_so_with_any_number_of_moves(
    tmp_path_factory: pytest.TempPathFactory,
    history: tuple[Workload, Workload, int, Fleet],
    max_moves: int,
) -> None:
    before, now, threshold, fleet = history
    root = tmp_path_factory.mktemp("tight")
    scene = Scene(root, before, threshold, fleet)
    made = scene.replan(now, max_moves)
    if made.plan.status is Status.INFEASIBLE:
        assert not can_be_served(now, fleet, threshold), made.plan.reason
    elif made.header is not None:
        scene.judge(made, now)
        assert made.moves <= max_moves
    else:
        assert made.plan.status is Status.UNKNOWN
    shutil.rmtree(root)


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("max_moves", [0, None])
def test_what_has_not_changed_stays_as_it_is(
    tmp_path: Path, selection: str, max_moves: int | None
) -> None:
    options = Options(selection=selection, rounds=0, seed=3)
    workload = crowd(1)
    scene = Scene(tmp_path, workload, 30, fleet(9_000), options)
    made = scene.replan(workload, max_moves)
    scene.judge(made, workload)
    assert (made.moves, made.added, made.removed) == (0, 0, 0)
    assert (made.brokers_added, made.brokers_removed) == (0, 0)
    assert scene.plan.objective is not None
    assert made.plan.cost <= scene.plan.objective * (1 + 1e-12)
    assert made.kept == len(places(scene.plan, workload))


def test_rates_that_vary_a_little_move_little(tmp_path: Path) -> None:
    workload = crowd(2)
    scene = Scene(tmp_path, workload, 30, fleet(9_000))
    rng = np.random.default_rng(2)
    factor = rng.uniform(0.9, 1.1, workload.topics)
    varied = with_rates(workload, np.rint(workload.rates * factor).astype(int))
    made = scene.replan(varied, 200)
    scene.judge(made, varied)
    assert made.header is not None
    pairs = len(places(scene.plan, workload))
    assert made.moves <= 200
    assert made.added + made.removed < 0.4 * pairs
    assert made.cost_fresh is not None
    assert made.plan.cost < 1.1 * made.cost_fresh


def test_a_grown_topic_sheds_and_a_broker_is_opened(tmp_path: Path) -> None:
    pairs = {("hot", f"v{i}") for i in range(9)} | {("warm", f"v{i}") for i in range(4)}
    scene = Scene(
        tmp_path, workload_of(pairs, {"hot": 10, "warm": 5}), 1000, fleet(125)
    )
    assert len(scene.plan.brokers) == 1
    grown = workload_of(pairs, {"hot": 11, "warm": 5})
    made = scene.replan(grown, 1)
    scene.judge(made, grown)
    assert made.moves == 1 and made.brokers_added == 1
    assert made.plan.options["brokers_from"] == [0, -1]
    refused = scene.replan(grown, 0, name="third")
    assert refused.header is None
    assert refused.plan.reason == (
        "no way was found to keep within capacities with at most 0 moves, which does "
        "not prove that there is none: the calmest one found takes 1\n"
        "It works with --max-moves 1."
    )
    assert refused.plan.status is Status.UNKNOWN
    assert refused.plan.figures == {"moves_found": 1}


def test_brokers_go_when_load_has_shrunk_and_moves_allow(tmp_path: Path) -> None:
    pairs = {(f"t{t}", f"v{t}{i}") for t in range(4) for i in range(10)}
    rates = {f"t{t}": 10 for t in range(4)}
    scene = Scene(tmp_path, workload_of(pairs, rates), 1000, fleet(110))
    assert len(scene.plan.brokers) == 4
    fewer = {(t, v) for t, v in pairs if not v.endswith(tuple("3456789"))}
    now = workload_of(fewer, rates)
    calm, free = (scene.replan(now, most, name=f"{most}") for most in (0, 100))
    for made in (calm, free):
        scene.judge(made, now)
    assert calm.moves == 0 and calm.brokers_removed == 0
    assert free.brokers_removed == 2 and free.moves == 6
    assert free.plan.cost < calm.plan.cost
    assert calm.cost_fresh == free.cost_fresh == pytest.approx(free.plan.cost)


def test_brokers_that_are_dropped_leave_no_gap(tmp_path: Path) -> None:
    pairs = {(f"t{t}", f"v{t}{i}") for t in range(3) for i in range(10)}
    rates = {f"t{t}": 10 for t in range(3)}
    scene = Scene(tmp_path, workload_of(pairs, rates), 1000, fleet(110))
    first = scene.plan.placement.broker.tolist()[0]
    rest = workload_of({(t, v) for t, v in pairs if t != "t0"}, rates)
    made = scene.replan(rest, 0)
    scene.judge(made, rest)
    assert made.moves == 0 and made.removed == 10
    origins = made.plan.options["brokers_from"]
    assert sorted(origins) == [b for b in range(3) if b != first]


def test_a_broker_of_a_type_that_is_gone_cannot_stay(tmp_path: Path) -> None:
    pairs = {("t", f"v{i}") for i in range(5)}
    workload = workload_of(pairs, {"t": 10})
    scene = Scene(tmp_path, workload, 1000, fleet(100))
    other = fleet(100, name="other")
    made = scene.replan(workload, None, fleet=other)
    scene.judge(made, workload)
    assert made.moves == 5
    assert (made.brokers_added, made.brokers_removed) == (1, 1)


def test_a_capacity_without_a_name_may_change(tmp_path: Path) -> None:
    pairs = {("t", f"v{i}") for i in range(5)}
    workload = workload_of(pairs, {"t": 10})
    scene = Scene(tmp_path, workload, 1000, fleet(100, name="broker-100"))
    made = scene.replan(workload, 0, fleet=fleet(90, name="broker-90"))
    scene.judge(made, workload)
    assert (made.moves, made.brokers_added, made.brokers_removed) == (0, 0, 0)


def test_a_plan_can_take_the_place_of_the_one_it_comes_from(tmp_path: Path) -> None:
    workload = crowd(4)
    scene = Scene(tmp_path, workload, 30, fleet(9_000))
    digest = read_plan_header(scene.first).digest
    made = scene.replan(later(workload, 4), 500, name="first", force=True)
    assert made.header is not None
    header = read_plan_header(scene.first)
    assert header.options["from"] == digest != header.digest
    assert header.figures["moves"] == made.moves <= header.options["max_moves"] == 500
    assert audit_directory(scene.first).ok


def test_a_need_that_no_broker_can_meet_is_infeasible(tmp_path: Path) -> None:
    pairs = {("t", "v")}
    scene = Scene(tmp_path, workload_of(pairs, {"t": 10}), 1000, fleet(100))
    made = scene.replan(workload_of(pairs, {"t": 60}), None)
    assert made.header is None
    assert 'subscriber "v" needs topic "t"' in made.plan.reason
    assert not (tmp_path / "second").exists()


@pytest.mark.parametrize("harm", ["gone", "changed"])
def test_the_workload_of_the_former_plan_is_needed(tmp_path: Path, harm: str) -> None:
    workload = workload_of({("t", "v")}, {"t": 10})
    scene = Scene(tmp_path, workload, 1000, fleet(100))
    if harm == "gone":
        shutil.rmtree(tmp_path / "before")
    else:
        other = workload_of({("t", "v")}, {"t": 11})
        write_workload(other, scene.before, force=True)
    with pytest.raises(InputError, match="was made from") as refused:
        scene.replan(workload, 0)
    assert "--from needs the workload" in refused.value.hint
    assert not (tmp_path / "second").exists()


def test_a_fleet_that_is_too_small_is_infeasible(tmp_path: Path) -> None:
    pairs = {("t", f"v{i}") for i in range(5)}
    scene = Scene(tmp_path, workload_of(pairs, {"t": 10}), 1000, fleet(60, count=1))
    more = workload_of(pairs | {("t", "w")}, {"t": 10})
    made = scene.replan(more, None)
    assert made.header is None and made.cost_fresh is None
    assert "all brokers together have 60" in made.plan.reason


@pytest.mark.parametrize("name", ["a", "v1x", "w"])
def test_a_new_subscriber_of_a_full_broker_needs_another_broker_but_no_move(
    tmp_path: Path, name: str
) -> None:
    pairs = {("t", f"v{i}") for i in range(5)}
    scene = Scene(tmp_path, workload_of(pairs, {"t": 10}), 1000, fleet(60))
    assert len(scene.plan.brokers) == 1
    more = workload_of(pairs | {("t", name)}, {"t": 10})
    made = scene.replan(more, 0)
    assert made.header is not None, made.plan.reason
    scene.judge(made, more)
    assert (made.moves, made.kept, made.added) == (0, 5, 1)
    assert made.plan.options["brokers_from"] == [0, -1]
    second = Place(str(tmp_path / "second"))
    assert audit_directory(second).ok
    assert places(read_plan(second), more) == places(made.plan, more)
    again = replan_directory(
        MemoryEngine(Place(str(tmp_path / "now-second"))),
        Target(1000, fleet(60), Place(str(tmp_path / "third"))),
        Options(),
        previous=second,
        max_moves=0,
    )
    assert (again.moves, again.kept) == (0, 6)


def test_a_plan_that_moves_nothing_is_the_same_on_both_engines(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PAIRS_PER_PART", 50_000)
    workload = crowd(8, people=BLOCK + 3_000, topics=40, most=2)
    # As few brokers as can be, so that those who come in between find no room.
    scene = Scene(tmp_path, workload, 30, fleet(60_000))
    people = np.array(list(workload.subscriber_names), object)
    owners, topics = workload.interests.owners(), workload.interests.topics
    new = np.arange(len(owners)) % 50 == 0
    names = list(workload.topic_names)
    now = Workload.from_pairs(
        topics=[names[t] for t in (*topics, *topics[new])],
        subscribers=[*people[owners], *(f"{v}+" for v in people[owners[new]])],
        rates=dict(zip(names, workload.rates.tolist(), strict=True)),
    )
    changed = Place(str(tmp_path / "now"))
    write_workload(now, changed)
    engines: tuple[Engine, ...] = (MemoryEngine(changed), SparkEngine(spark, changed))
    memory, spark_ = (
        replan_directory(
            engine,
            Target(30, scene.fleet, Place(str(tmp_path / f"{number}"))),
            scene.options,
            previous=scene.first,
            max_moves=0,
        )
        for number, engine in enumerate(engines)
    )
    assert memory.header is not None and spark_.header is not None
    assert memory.plan.placement.pair_broker is not None
    assert (memory.moves, spark_.moves) == (0, 0)
    assert memory.header.digest == spark_.header.digest
    assert memory.header.figures == spark_.header.figures
    whole = read_plan(Place(str(tmp_path / "1")))
    check_counts(spark_, places(scene.plan, workload), places(whole, now))


def test_only_a_plan_of_this_kind_can_be_gone_on_from(tmp_path: Path) -> None:
    workload = workload_of({("t", "v")}, {"t": 10})
    scene = Scene(tmp_path, workload, 1000, fleet(100))
    header = tmp_path / "first" / "plan.json"
    text = header.read_text()
    header.write_text(text.replace('"kind": "provision"', '"kind": "fill"'))
    with pytest.raises(InputError, match="kind fill"):
        scene.replan(workload, 0)


def test_a_former_plan_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    pairs = {(f"t{t}", f"v{t}{i}") for t in range(2) for i in range(10)}
    workload = workload_of(pairs, {"t0": 10, "t1": 10})
    scene = Scene(tmp_path, workload, 1000, fleet(110))
    file = tmp_path / "first" / "assignment.parquet"
    runs = pq.read_table(file).to_pydict()
    assert sorted(runs["broker"]) == [0, 1]
    runs["broker"].reverse()
    schema = pq.read_schema(file)
    pq.write_table(pa.table(runs, schema=schema), file)
    with pytest.raises(InputError, match="other brokers than the assignment says"):
        scene.replan(workload, 0)
    assert not (tmp_path / "second").exists()


def test_a_negative_limit_of_moves_is_refused(tmp_path: Path) -> None:
    workload = workload_of({("t", "v")}, {"t": 10})
    scene = Scene(tmp_path, workload, 1000, fleet(100))
    with pytest.raises(InputError, match="max-moves"):
        scene.replan(workload, -1)


def crowd(seed: int, people: int = 400, topics: int = 60, most: int = 12) -> Workload:
    """Subscribers that want some of many topics."""
    rng = np.random.default_rng(seed)
    each = rng.integers(1, most, people)
    owner = np.repeat(np.arange(people), each)
    wanted = np.minimum((rng.pareto(0.9, len(owner)) * 4).astype(int), topics - 1)
    return Workload.from_pairs(
        topics=[f"t{t}" for t in wanted],
        subscribers=[f"v{v:06d}" for v in owner],
        rates={f"t{t}": int(r) for t, r in enumerate(rng.integers(1, 40, topics))},
    )


def with_rates(workload: Workload, rates: "np.typing.NDArray[np.int64]") -> Workload:
    """The same interests, and other rates for its topics in their order."""
    names = list(workload.topic_names)
    people = list(workload.subscriber_names)
    owners = workload.interests.owners()
    return Workload.from_pairs(
        topics=[names[t] for t in workload.interests.topics],
        subscribers=[people[v] for v in owners],
        rates=dict(zip(names, rates.tolist(), strict=True)),
    )


def later(workload: Workload, seed: int) -> Workload:
    """Other rates; some subscribers left, some came in between."""
    rng = np.random.default_rng(seed)
    rates = np.rint(workload.rates * rng.uniform(0.8, 1.3, workload.topics))
    varied = with_rates(workload, rates.astype(int))
    people = np.array(list(varied.subscriber_names), object)
    other = rng.random(len(people)) < 0.02
    people[other] = [f"{name}+" for name in people[other]]
    names = list(varied.topic_names)
    return Workload.from_pairs(
        topics=[names[t] for t in varied.interests.topics],
        subscribers=people[varied.interests.owners()].tolist(),
        rates=dict(zip(names, varied.rates.tolist(), strict=True)),
    )


@pytest.mark.parametrize("own_thresholds", some({"own": True, "common": False}, 2))
def test_both_engines_go_on_with_the_same_plan(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    own_thresholds: bool,
) -> None:
    monkeypatch.setattr(parts, "PAIRS_PER_PART", 50_000)
    workload = crowd(5, people=2 * BLOCK + 5_000, topics=300, most=3)
    now, options, big = later(workload, 6), Options(rounds=1), fleet(500_000)
    if own_thresholds:
        own = np.random.default_rng(7).integers(-1, 60, now.subscribers)
        now = replace(now, thresholds=own)
    scene = Scene(tmp_path, workload, 30, big, options)
    assert np.bincount(scene.plan.placement.topic).max() > 1
    changed = Place(str(tmp_path / "now"))
    assert len(write_workload(now, changed).files["interests"]) == 3
    engines: tuple[Engine, ...] = (MemoryEngine(changed), SparkEngine(spark, changed))
    before = places(scene.plan, workload)
    for limit in (30_000, None):
        if limit is None:  # the least difference in cost makes a new choice win
            monkeypatch.setattr(planner, "EQUAL", 0.0)
        memory, spark_ = (
            replan_directory(
                engine,
                Target(30, big, Place(str(tmp_path / f"{limit}-{number}"))),
                options,
                previous=scene.first,
                max_moves=limit,
            )
            for number, engine in enumerate(engines)
        )
        assert memory.header is not None and spark_.header is not None
        assert memory.header.digest == spark_.header.digest
        assert memory.header.figures == spark_.header.figures
        assert memory.header.options == spark_.header.options
        assert memory.cost_fresh is not None
        if limit is None:
            assert memory.plan.cost <= memory.cost_fresh
        else:
            assert memory.moves <= limit
        whole = read_plan(Place(str(tmp_path / f"{limit}-1")))
        check_counts(spark_, before, places(whole, now))
