"""The page's modules that only compute, in the node that Playwright brings."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Protocol

import playwright
import pytest
from tests.page import lines

import brokerwise.page

NODE = Path(playwright.__file__).parent / "driver" / "node"
FOLDER = Path(brokerwise.page.__file__).parent


class Run(Protocol):
    def __call__(self, script: str, given: object = None) -> Any: ...


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a script that has `given` and calls `give` with what it found."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "package.json").write_text('{"type": "module"}')
    for file in FOLDER.glob("*.js"):
        shutil.copy(file, folder)

    def run(script: str, given: object = None) -> Any:
        (folder / "script.js").write_text(
            f"{script}\nfunction give(x) {{ process.stdout.write(JSON.stringify(x)); }}"
            f"\nfunction given() {{ return {json.dumps(given)}; }}"
        )
        command = [str(NODE), str(folder / "script.js")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_a_tick_is_one_more_point_and_old_points_are_dropped(run: Run) -> None:
    given = [lines.hello(2), lines.tick(2, 899), lines.tick(2, 900)]
    history = run(
        """import { initial, reduce } from "./state.js";
        give(given().reduce(reduce, initial()).history);""",
        given,
    )
    assert len(history["at"]) == len(history["loads"]["b1"]) == 900
    assert history["at"][0] == lines.START + 1
    assert history["at"][-1] == lines.START + 900
    assert history["loads"]["b0"][-1] == lines.load(0, 900)


def test_any_word_may_name_a_broker_and_a_clock_may_be_set_back(run: Run) -> None:
    tick = lines.tick(1, 901)
    tick["brokers"][0]["name"] = "constructor"
    back = [lines.tick(2, 905), lines.tick(2, 100), lines.tick(2, 101)]
    found = run(
        """import { initial, reduce } from "./state.js";
        const [hello, tick, ...back] = given();
        const named = [hello, tick].reduce(reduce, initial()).history.loads;
        give([Object.keys(named), back.reduce(reduce, initial()).history.at]);""",
        [lines.hello(1), tick, *back],
    )
    assert found[0] == ["b0", "constructor"]
    assert found[1] == [lines.START + 100, lines.START + 101]


def test_a_lost_broker_has_a_gap_and_a_new_one_begins_late(run: Run) -> None:
    given = [lines.hello(2, 3), lines.tick(3, 3, lost=[1])]
    loads = run(
        """import { initial, reduce } from "./state.js";
        give(given().reduce(reduce, initial()).history.loads);""",
        given,
    )
    assert loads["b1"][2:] == [lines.load(1, 2), None]
    assert loads["b2"] == [None, None, None, lines.load(2, 3)]


def test_moves_are_counted_and_told_together(run: Run) -> None:
    move = {"id": 1, "user": "ann", "from": "b0", "to": "b1", "state": "done"}
    moved = [
        {**move, "reason": ""},
        {**move, "user": "ben", "reason": ""},
        {**move, "user": "cat", "state": "declined", "reason": "busy"},
        {**move, "user": "dan", "state": "requested", "reason": ""},
    ]
    first = lines.tick(2, 5, moves={"done": 10})
    second = lines.tick(2, 6, moves={"done": 70}, moved=moved)
    state = run(
        """import { initial, reduce } from "./state.js";
        give(given().reduce(reduce, initial()));""",
        [lines.hello(2, 3), first, second],
    )
    assert state["history"]["moves"] == [[lines.START + 6, 60]]
    assert {event["text"] for event in state["events"]} == {
        "2 sessions moved from b0 to b1.",
        "cat stays on b0: busy.",
    }


def test_events_come_once_and_in_order_after_a_reconnect(run: Run) -> None:
    lost = lines.event(1, "broker lost", "Broker b1 is lost.")
    back = lines.event(2, "broker up", "Broker b1 is up again.")
    hello = lines.hello(2, 3)
    move = {"id": 1, "user": "ann", "from": "b0", "to": "b1", "state": "done"}
    tick = lines.tick(2, 1.5, moved=[{**move, "reason": ""}])
    texts = run(
        """import { initial, reduce } from "./state.js";
        give(given().reduce(reduce, initial()).events.map((event) => event.text));""",
        [hello, lost, back, tick, hello, lost, back, {"kind": "of tomorrow"}],
    )
    assert texts == [back["text"], "ann moved from b0 to b1.", lost["text"]]


def test_no_connection_is_since_it_was_lost_and_not_since_the_last_try(
    run: Run,
) -> None:
    connection = run(
        """import { connected, initial } from "./state.js";
        let state = connected(initial(), 1, "live", "");
        state = connected(state, 2, "lost", "closed");
        give(connected(state, 3, "lost", "nobody answers").connection);"""
    )
    assert connection == {"state": "lost", "since": 2, "why": "nobody answers"}


def test_messages_of_two_brokers_are_shown_once_and_in_order(run: Run) -> None:
    shown = run(
        """import { Ordering } from "./ordering.js";
        const order = new Ordering();
        const frame = (seq, epoch = 1) => ({ topic: "t", source: "s", epoch, seq });
        const shown = [];
        const take = (...all) => all.forEach((f) => shown.push(...order.take(f)));
        order.begin([["t", "s", 1, 3]]);
        take(frame(3), frame(4));
        order.beginMove();
        take(frame(7), frame(6));
        const early = order.hasReached([["t", "s", 1, 6]]);
        take(frame(5), frame(6), frame(7));
        const late = order.hasReached([["t", "s", 1, 6]]);
        take(frame(10), frame(9));
        shown.push(...order.endMove());
        take(frame(12), frame(1, 2), frame(3, 3));
        const missed = order.begin([["t", "s", 3, 8]]);
        const seqs = shown.map(({ frame, missed }) => [frame.epoch, frame.seq, missed]);
        give({ seqs, early, late, missed });"""
    )
    assert (shown["early"], shown["late"]) == (False, True)
    first = [[1, seq, 0] for seq in (4, 5, 6, 7)]
    assert shown["seqs"] == [
        *first,
        *([1, 9, 1], [1, 10, 0], [1, 12, 1], [2, 1, 0], [3, 3, None]),
    ]
    assert shown["missed"] == 5


def test_ticks_are_round_and_reach_the_top(run: Run) -> None:
    given = [0, 0.07, 1, 9.99, 412, 1_000, 123_456]
    found = run(
        """import { roundTicks } from "./axes.js";
        give(given().map((most) => roundTicks(most, 4)));""",
        given,
    )
    for most, ticks in zip(given, found, strict=True):
        assert ticks[0] == 0
        assert ticks[-2] < most <= ticks[-1] or most == 0
        assert 2 <= len(ticks) <= 6
    assert found[4] == [0, 200, 400, 600]


def test_bars_are_against_capacity_unless_that_would_show_nothing(run: Run) -> None:
    given = [
        {"max_load": 300, "brokers": [{"load": 300, "capacity": 1000}]},
        {"max_load": 1200, "brokers": [{"load": 1200, "capacity": 1000}]},
        {"max_load": 3, "brokers": [{"load": 3, "capacity": 1000}]},
        {"max_load": 3, "brokers": [{"load": 3, "capacity": None}]},
        {"max_load": 0, "brokers": []},
    ]
    found = run(
        'import { scaleOf } from "./bars.js"; give(given().map(scaleOf));', given
    )
    assert [(each["top"], each["isCapacity"]) for each in found] == [
        *((1000, True), (1200, True)),
        *((3, False), (3, False), (1, False)),
    ]


def test_numbers_are_written_as_people_read_them(run: Run) -> None:
    found = run(
        """import * as f from "./format.js";
        give([f.count(1204), f.counted(1, "topic"), f.rate(41.25), f.rate(null),
          f.short(12345), f.short(999.9), f.bytes(1100000), f.milliseconds(3.14),
          f.milliseconds(1234), f.percent(0.9999), f.cov(0.3149), f.duration(5400),
          f.bandwidth([412000, 99]).text(301400), f.sentence("paused")]);"""
    )
    assert found == [
        *("1,204", "1 topic", "41.3/s", "\N{EN DASH}", "12.3k", "1k", "1.1 MB"),
        *("3.14 ms", "1.23 s", "> 99.9 %", "0.31", "90 min", "301 kB/s", "Paused"),
    ]


def test_a_hundred_bars_stand_in_rows_that_can_be_hit(run: Run) -> None:
    found = run(
        """import { perRow } from "./bars.js";
        give([perRow(5, 900, 8), perRow(100, 900, 8), perRow(100, 336, 12)]);"""
    )
    assert found == [5, 100, 25]


def test_fewer_points_are_the_same_ones_while_time_goes_on(run: Run) -> None:
    found = run(
        """import { stepsOf, thinned } from "./thinning.js";
        const x = Array.from({ length: 100 }, (_, i) => 1000.5 + i);
        const y = x.map((at) => (at > 1050 && at < 1060 ? null : at));
        const means = (from) => {
          const later = x.slice(from);
          return thinned(y.slice(from), stepsOf(later, 4));
        };
        give([means(0), means(1), thinned(y, stepsOf(x, 4), true)]);"""
    )
    before, after, most = found
    assert before[1:] == after[1:]
    assert before[1] == 1006.0
    assert most[:2] == [1003.5, 1007.5]
    assert before[13:15] == [None, None]
    assert len(before) == 25
