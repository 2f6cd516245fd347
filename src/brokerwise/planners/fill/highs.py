"""HiGHS, silent, on one thread, and stopped when we say so."""

from typing import Any

import highspy

from brokerwise.planners.control import Stop


def silent(**options: Any) -> highspy.Highs:
    """A solver that prints nothing and gives the same answer every time."""
    highs = highspy.Highs()
    for option, value in ({"output_flag": False, "threads": 1} | options).items():
        highs.setOptionValue(option, value)
    return highs


def run(highs: highspy.Highs, stop: Stop) -> None:
    """Solve; once `stop` says yes, the best so far is the answer."""

    def ask(event: Any) -> None:
        if stop():
            event.interrupt()

    for callback in (highs.cbMipInterrupt, highs.cbSimplexInterrupt):
        callback.subscribe(ask)
    highs.run()
