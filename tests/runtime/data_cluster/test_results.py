"""Results: committed once, pulled page by page, kept for a while."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.data_cluster.channel_worlds import World, make_world, table
from tests.tiers import examples

from brokerwise.runtime.data_cluster import channels
from brokerwise.runtime.data_cluster.results import (
    SPAN_BYTES,
    RunScope,
    commit_run,
    forget_runs,
    pull,
    write_results,
)
from brokerwise.runtime.data_cluster.status import channel_status
from brokerwise.runtime.data_cluster.store import RESULTS
from brokerwise.runtime.protocol.data import Pull


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = make_world(tmp_path)
    made.create()
    with made.store:
        yield made


def texts(*values: int, size: int = 0) -> list[str]:
    return [
        json.dumps({"n": value, "x": "é" * size}, ensure_ascii=False)
        for value in values
    ]


def numbers(world: World, subscription: int, after: int = 0) -> list[int]:
    return [result["n"] for result in world.log(subscription, after)]


def files(world: World) -> list[str]:
    return sorted(path.name for path in (world.store.directory / RESULTS).iterdir())


def test_seq_goes_on_from_run_to_run(world: World) -> None:
    one, two = world.subscribe("near", "a"), world.subscribe("near", "b")
    world.commit({one: texts(1, 2), two: texts(7)})
    world.commit({one: texts(3)})
    world.commit({})
    assert numbers(world, one) == [1, 2, 3]
    assert numbers(world, one, after=1) == [2, 3]
    assert numbers(world, two) == [7]
    assert len(files(world)) == 2
    shown = channel_status(world.store.sql, "near")
    assert [(run.run, run.rows) for run in shown.last_runs] == [(3, 0), (2, 1), (1, 3)]


def test_results_of_a_subscription_that_has_gone_meanwhile_are_nobodys(
    world: World,
) -> None:
    one, two = world.subscribe("near", "a"), world.subscribe("near", "b")
    world.unsubscribe(one)
    world.commit({one: texts(1), two: texts(2)})
    answer = pull(world.store, [Pull(one, 0), Pull(two, 0)])
    assert answer.gone == (one,)
    assert numbers(world, two) == [2]
    left = world.store.sql.execute("SELECT count(*) FROM results").fetchone()
    assert left == (1,)


def test_a_run_of_a_channel_that_was_made_again_is_not_committed(world: World) -> None:
    number = world.subscribe("near", "a")
    run = RunScope(channels.state_of(world.store.sql, "near"), 0, 0, 1, 1, world.now)
    written = write_results(world.store, "near-1", table({number: texts(1)}))
    with world.store.change() as sql:
        channels.drop_channel(sql, "near")
    world.now += 1
    world.create()
    assert not commit_run(world.store, run, written, world.now)
    assert files(world) == []
    assert channels.state_of(world.store.sql, "near").run == 0


def test_the_same_run_is_committed_only_once(world: World) -> None:
    number = world.subscribe("near", "a")
    run = RunScope(channels.state_of(world.store.sql, "near"), 0, 0, 1, 1, world.now)
    results = table({number: texts(1)})
    first = write_results(world.store, "near-1", results)
    second = write_results(world.store, "near-1", results)
    assert commit_run(world.store, run, first, world.now)
    assert not commit_run(world.store, run, second, world.now)
    assert numbers(world, number) == [1]
    assert files(world) == [first.file]


def test_an_answer_ends_where_its_bytes_end_and_the_rest_comes_next(
    world: World,
) -> None:
    one, two = world.subscribe("near", "a"), world.subscribe("near", "b")
    world.commit({one: texts(*range(100), size=500), two: texts(1)})
    after, pages, found = 0, 0, []
    while after < 100:
        answer = pull(world.store, [Pull(one, after), Pull(two, 0)], most=10_000)
        results = [result for pulled in answer.pulled for result in pulled.results]
        assert sum(len(bytes(result.data)) for result in results) <= 10_000
        first = answer.pulled[0]
        assert (first.subscription, first.after, first.last) == (one, after, 100)
        found += [json.loads(bytes(result.data))["n"] for result in first.results]
        after += len(first.results)
        pages += 1
    assert sorted(found) == list(range(100))
    assert pages == 12


def test_a_result_that_is_larger_than_an_answer_comes_alone(world: World) -> None:
    one, two = world.subscribe("near", "a"), world.subscribe("near", "b")
    world.commit({one: texts(1, size=5_000), two: texts(2, size=5_000)})
    answer = pull(world.store, [Pull(one, 0), Pull(two, 0)], most=100)
    assert [(p.subscription, len(p.results)) for p in answer.pulled] == [(one, 1)]


def test_one_that_has_everything_is_told_so(world: World) -> None:
    one = world.subscribe("near", "a")
    world.commit({one: texts(1)})
    (pulled,) = pull(world.store, [Pull(one, 1)]).pulled
    assert (pulled.after, pulled.results, pulled.last) == (1, (), 1)


def test_results_carry_the_time_of_their_commit_in_milliseconds(world: World) -> None:
    one = world.subscribe("near", "a")
    world.commit({one: texts(1)})
    (pulled,) = pull(world.store, [Pull(one, 0)]).pulled
    assert pulled.results[0].at == world.now * 1000


def test_many_results_are_found_in_the_middle(world: World) -> None:
    one = world.subscribe("near", "a")
    count = 3 * SPAN_BYTES // 600
    world.commit({one: texts(*range(10_000, 10_000 + count), size=250)})
    stored = world.store.sql.execute("SELECT count(*) FROM results").fetchone()
    assert stored[0] > 2
    for after in (0, 1, count // 2, count - 1):
        expected = list(range(10_000 + after, 10_000 + count))
        assert numbers(world, one, after) == expected


def test_runs_that_are_too_old_go_with_their_files(world: World) -> None:
    one, two = world.subscribe("near", "a"), world.subscribe("near", "b")
    world.commit({one: texts(1, 2)})
    world.now += 100
    world.commit({one: texts(3), two: texts(1)})
    assert forget_runs(world.store, world.now, kept_seconds=100) == 0
    assert forget_runs(world.store, world.now + 1, kept_seconds=100) == 1
    assert len(files(world)) == 1
    (pulled,) = pull(world.store, [Pull(one, 0)]).pulled
    assert (pulled.after, len(pulled.results), pulled.last) == (2, 1, 3)
    assert forget_runs(world.store, world.now + 101, kept_seconds=100) == 1
    assert files(world) == []
    (pulled,) = pull(world.store, [Pull(one, 1)]).pulled
    assert (pulled.after, pulled.results, pulled.last) == (3, (), 3)
    world.commit({one: texts(9)})
    (pulled,) = pull(world.store, [Pull(one, 1)]).pulled
    assert (pulled.after, len(pulled.results), pulled.last) == (3, 1, 4)


def test_runs_beyond_the_bytes_that_are_kept_go_oldest_first(world: World) -> None:
    one = world.subscribe("near", "a")
    for n in range(5):
        world.now += 1
        world.commit({one: texts(n, size=500)})
    assert forget_runs(world.store, world.now, kept_bytes=2_100) == 3
    assert numbers(world, one) == [3, 4]
    assert len(files(world)) == 2


def test_a_clock_that_went_back_leaves_no_hole(world: World) -> None:
    one = world.subscribe("near", "a")
    world.commit({one: texts(1)})
    world.now -= 500
    world.commit({one: texts(2)})
    world.now += 600
    world.commit({one: texts(3)})
    assert forget_runs(world.store, world.now, kept_seconds=300) == 2
    assert numbers(world, one) == [3]


def test_files_that_no_run_names_are_removed_at_the_start(world: World) -> None:
    one = world.subscribe("near", "a")
    world.commit({one: texts(1)})
    write_results(world.store, "near-2", table({one: texts(2)}))
    world.store.results.path("near-3.ndjson.new").write_bytes(b"{")
    assert world.store.remove_leftovers() == 2
    assert numbers(world, one) == [1]


def test_of_what_is_set_aside_the_newest_are_kept(world: World) -> None:
    for segment in range(1, channels.ASIDE_KEPT + 3):
        before = channels.state_of(world.store.sql, "near")
        with world.store.change() as sql:
            channels.set_aside(sql, before, segment, "bad", world.now)
    shown = channel_status(world.store.sql, "near")
    assert shown.set_aside_count == channels.ASIDE_KEPT
    assert shown.set_aside[0].segment == shown.segment == channels.ASIDE_KEPT + 2


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = make_world(tmp_path_factory.mktemp("world"))
    made.create()
    with made.store:
        yield made


RUN = st.dictionaries(
    st.integers(0, 4),
    st.lists(st.text(max_size=40).map(lambda t: json.dumps({"t": t})), max_size=9),
)


@settings(max_examples=examples(25))
@given(runs=st.lists(RUN, max_size=3), most=st.integers(1, 300))
def test_what_was_committed_is_what_is_pulled(
    lasting: World, runs: list[dict[int, list[str]]], most: int
) -> None:
    numbered = [lasting.subscribe("near", secrets.token_hex()) for _ in range(5)]
    for found in runs:
        lasting.commit({numbered[place]: texts for place, texts in found.items()})
    for place, number in enumerate(numbered):
        pulled: list[str] = []
        while True:
            (page,) = pull(lasting.store, [Pull(number, len(pulled))], most).pulled
            pulled += [bytes(result.data).decode() for result in page.results]
            if len(pulled) == page.last:
                break
        assert pulled == [t for found in runs for t in sorted(found.get(place, []))]
