"""What a broker does with a position: a processing step.

brokerwise up --step 'gps/*=brokerwise.reproduce.taxi.step:clean'
"""

import time
from math import isqrt

PROCESSING_MS = 5.0  # of processor time, for each position
FASTEST_CM = 6_000  # a second: whoever is faster is not there
_REGION_CM = 50_000


def clean(position: dict[str, int]) -> dict[str, object] | None:
    """A record of dataset `positions`; None for one that cannot be true."""
    _work(PROCESSING_MS)
    x, y = position["x"], position["y"]
    east, north = x - position["before_x"], y - position["before_y"]
    speed = isqrt(east * east + north * north)
    if speed > FASTEST_CM:
        return None
    return {
        "taxi": position["taxi"],
        "seq": position["seq"],
        "region": f"{x // _REGION_CM}_{y // _REGION_CM}",
        "x": x,
        "y": y,
        "speed": speed,
        "told_at": position["told_at"],
        "processed_at": int(time.time() * 1000),
    }


def _work(milliseconds: float) -> None:
    """As long as matching it to a street and predicting its way would take."""
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        pass
