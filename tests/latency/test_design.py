"""Which configurations latency data is made of, and lots of it joined."""

import numpy as np
import pytest

from brokerwise.latency.design import Design
from brokerwise.latency.drawing import Configuration, draw, draw_loaded
from brokerwise.latency.joining import join
from brokerwise.latency.overhead import NONE
from brokerwise.latency.queueing import simulate
from brokerwise.model.errors import InputError

TIMES = (5.0, 10.0)
MOST = {5.0: 30, 10.0: 15}


def test_both_ways_take_turns() -> None:
    def made(way: str) -> list[Configuration]:
        design = Design((1, 3), 5, TIMES, way=way, seed=4)
        return design.sharing(3, MOST, rate_each=4, cores=1)

    paper = draw(5, 3, processing=TIMES, most=MOST, seed=4)
    loaded = draw_loaded(5, 3, processing=TIMES, rate_each=4, seed=4)
    assert made("paper") == paper and made("loaded") == loaded
    assert made("mixed") == [paper[0], loaded[0], paper[1], loaded[1], paper[2]]


def test_topics_alone_go_up_to_more_than_a_worker_can_do() -> None:
    alone = Design((1,), 90, TIMES).alone(4.0)
    assert max(c.load(4.0) for c in alone) == pytest.approx(1.1, abs=0.04)
    assert min(c.publishers[0] for c in alone) == 1


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"topics": ()}, "topics of a configuration"),
        ({"topics": (0, 1)}, "topics of a configuration"),
        ({"topics": (1, 33)}, "topics of a configuration"),
        ({"each": 0}, "configurations: found 0"),
        ({"way": "odd"}, "way to draw: found 'odd'"),
        ({"target_ms": 0.0}, "target: found 0 ms"),
    ],
)
def test_a_design_that_cannot_be_is_refused(
    change: dict[str, object], text: str
) -> None:
    values: dict[str, object] = {"topics": (1,), "each": 1, "processing": TIMES}
    with pytest.raises(InputError, match=text):
        Design(**values | change)  # type: ignore[arg-type]


def test_joined_rows_are_numbered_anew() -> None:
    pairs = draw(2, 2, processing=TIMES, most=MOST, seed=1)
    alone = draw(3, 1, processing=TIMES, most=MOST, seed=1)
    parts = [simulate(c, rate_each=4, overhead=NONE) for c in (pairs, alone)]
    joined = join(parts)
    assert joined.configuration.tolist() == [0, 0, 1, 1, 2, 3, 4]
    assert joined.p90_ms.tolist() == np.concatenate([p.p90_ms for p in parts]).tolist()
    assert len(join([])) == 0
