"""Plans of kind provision and fill as seeds: the pairs are those of the plan."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.auditing.edits import move_a_pair
from tests.auditing.forge import Forgery, forged
from tests.auditing.naive import filled, provisioned, saved
from tests.colocation import save_model, save_topics, some_topics
from tests.tiers import examples

from brokerwise.cli.main import run as command_line
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.workload import Workload
from brokerwise.runtime.fleet.approval import UnsoundPlanError, seed_of_plan
from brokerwise.runtime.fleet.seeds import placement_seed
from brokerwise.runtime.protocol.seed import SeedSession
from brokerwise.storage.place import Place
from brokerwise.storage.plan import read_plan_header
from brokerwise.storage.workload import write_workload


@pytest.fixture
def news() -> Workload:
    """Three subscribers want world, two sport, and nobody silent."""
    wanted = {"ann": "world sport", "bob": "world", "cy": "world sport"}
    pairs = [(topic, u) for u, topics in wanted.items() for topic in topics.split()]
    topics, subscribers = zip(*pairs, strict=True)
    rates = {"world": 10, "sport": 4, "silent": 0}
    return Workload.from_pairs(topics=topics, subscribers=subscribers, rates=rates)


@pytest.fixture
def plan(news: Workload, tmp_path: Path) -> Path:
    """Capacity 30 gives broker 0 world for ann and bob, 1 world for cy, and sport."""
    return saved(provisioned(news, threshold=14, capacity=32), news, tmp_path)


def place(path: Path) -> Place:
    return Place(str(path))


def test_sessions_are_a_subscribers_pairs_on_one_broker(plan: Path) -> None:
    seed = seed_of_plan(place(plan))
    assert seed.sessions == (
        SeedSession("ann", "b0", ("world",)),
        SeedSession("ann", "b1", ("sport",)),
        SeedSession("bob", "b0", ("world",)),
        SeedSession("cy", "b1", ("world", "sport")),
    )
    assert [(b.name, b.capacity) for b in seed.brokers] == [("b0", 32), ("b1", 32)]


def test_a_seed_says_which_plan_was_approved(plan: Path) -> None:
    seed = seed_of_plan(place(plan))
    assert (seed.kind, seed.placement) == ("provision", "plan")
    assert seed.plan == str(plan)
    assert seed.digest == read_plan_header(place(plan)).digest
    assert seed.rates == {"world": 10, "sport": 4, "silent": 0}


def test_steps_are_for_topics_that_there_are(plan: Path) -> None:
    seed = seed_of_plan(place(plan), steps={"sport": "spin:5"})
    assert seed.steps == {"sport": "spin:5"}
    with pytest.raises(InputError, match="has no topic 'chess'"):
        seed_of_plan(place(plan), steps={"chess": "spin:5"})


def test_patterns_stand_for_the_topics_of_the_plan(plan: Path) -> None:
    steps = {"world": "spin:1", "s*": "spin:2", "*": "spin:3", "si*": "spin:4"}
    assert seed_of_plan(place(plan), steps=steps).steps == {
        "world": "spin:1",
        "sport": "spin:2",
        "silent": "spin:4",
    }
    with pytest.raises(InputError, match=r"has no topic 'chess/\*'"):
        seed_of_plan(place(plan), steps={"chess/*": "spin:5"})


def test_a_fill_plan_can_run_too(news: Workload, tmp_path: Path) -> None:
    seed = seed_of_plan(
        place(saved(filled(news, brokers=1, capacity=30), news, tmp_path))
    )
    assert seed.kind == "fill"
    assert seed.sessions == (
        SeedSession("ann", "b0", ("world",)),
        SeedSession("bob", "b0", ("world",)),
    )


def test_a_changed_placement_is_refused_with_what_the_audit_says(plan: Path) -> None:
    forged(plan, move_a_pair, mend_digests=False)
    with pytest.raises(UnsoundPlanError, match="is not run: the audit found") as caught:
        seed_of_plan(place(plan))
    assert caught.value.details[0].startswith("digest: placement has digest ")
    assert caught.value.hint == f"See all of it: brokerwise audit {plan}"


def test_mended_digests_do_not_help(plan: Path) -> None:
    forged(plan, move_a_pair, mend_digests=True)
    with pytest.raises(UnsoundPlanError) as caught:
        seed_of_plan(place(plan))
    assert any(line.startswith("load: ") for line in caught.value.details)


def claim_infeasible(plan: Forgery) -> None:
    plan.header |= {"status": "infeasible", "objective": None, "bound": None}


def test_an_infeasible_plan_is_refused(plan: Path) -> None:
    forged(plan, claim_infeasible, mend_digests=True)
    with pytest.raises(InputError, match="is infeasible: there is no plan to run"):
        seed_of_plan(place(plan))


def test_a_workload_elsewhere_must_be_named(plan: Path, tmp_path: Path) -> None:
    (tmp_path / "workload").rename(tmp_path / "moved")
    with pytest.raises(InputError, match="is not where it says") as caught:
        seed_of_plan(place(plan))
    assert caught.value.hint == "Name where it is with --workload DIR."
    assert len(seed_of_plan(place(plan), place(tmp_path / "moved")).sessions) == 4


def test_another_workload_is_refused(plan: Path, tmp_path: Path) -> None:
    other = Workload.from_pairs(topics=["a"], subscribers=["u"], rates={"a": 1})
    write_workload(other, place(tmp_path / "other"))
    with pytest.raises(DigestMismatchError, match="it has changed since"):
        seed_of_plan(place(plan), place(tmp_path / "other"))


def test_names_that_no_frame_can_carry_are_refused(tmp_path: Path) -> None:
    long = "x" * 300
    workload = Workload.from_pairs(topics=[long], subscribers=["u"], rates={long: 5})
    plan = saved(provisioned(workload, threshold=5, capacity=10), workload, tmp_path)
    with pytest.raises(InputError, match="found a name of 300 bytes") as caught:
        seed_of_plan(place(plan))
    assert len(caught.value.message) < 200


def test_a_plan_without_brokers_cannot_run(tmp_path: Path) -> None:
    workload = Workload.from_pairs(topics=["a"], subscribers=["u"], rates={"a": 0})
    plan = saved(provisioned(workload, threshold=5, capacity=10), workload, tmp_path)
    with pytest.raises(InputError, match="has no brokers: there is nothing to run"):
        seed_of_plan(place(plan))


@settings(max_examples=examples(50))
@given(
    pairs=st.sets(st.tuples(st.integers(0, 5), st.integers(0, 7)), min_size=1),
    rates=st.lists(st.integers(0, 9), min_size=6, max_size=6),
    capacity=st.integers(18, 60),
)
def test_sessions_add_up_to_the_loads_of_the_plan(
    pairs: set[tuple[int, int]], rates: list[int], capacity: int
) -> None:
    workload = Workload.from_pairs(
        topics=[f"t{t}" for t, _ in pairs],
        subscribers=[f"u{u}" for _, u in pairs],
        rates={f"t{t}": rate for t, rate in enumerate(rates)},
    )
    plan = provisioned(workload, threshold=20, capacity=capacity)
    seed = placement_seed(plan, workload)
    served = Counter((s.broker, topic) for s in seed.sessions for topic in s.topics)
    loads = Counter[str]()
    for (broker, topic), count in served.items():
        loads[broker] += seed.rates[topic] * (1 + count)
    assert [loads[b.name] for b in seed.brokers] == plan.brokers.load.tolist()
    assert len({(s.user, s.broker) for s in seed.sessions}) == len(seed.sessions)


def test_a_model_elsewhere_is_to_be_put_back_as_no_option_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_model("m")
    topics = save_topics("t.csv", some_topics())
    options = ["--model", "m", "--target-ms", "100", "--k", "4", "--out", "p"]
    assert command_line(["colocate", topics, *options]) == 0
    model = (tmp_path / "m").rename(tmp_path / "moved")
    with pytest.raises(InputError, match="is not where it says") as caught:
        seed_of_plan(Place("p"))
    assert caught.value.hint == f"Put it back: {tmp_path / 'm'}"
    model.rename(tmp_path / "m")
    assert seed_of_plan(Place("p")).kind == "colocate"
