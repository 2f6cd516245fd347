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


def run(highs: highspy.Highs, stop: Stop, asks: int | None = None) -> None:
    """Solve; once `stop` says yes, the best so far is the answer.

    HiGHS asks at points of its search that are the same every time, so a limit on
    `asks` ends it where it would end again. That there is no solution is believed only
    without presolve: with it, HiGHS 1.15 has said so of problems that have one.
    """
    asked = 0

    def ask(event: Any) -> None:
        nonlocal asked
        asked += 1
        if stop() or (asks is not None and asked > asks):
            event.interrupt()

    for callback in (highs.cbMipInterrupt, highs.cbSimplexInterrupt):
        callback.subscribe(ask)
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        highs.clearSolver()
        highs.setOptionValue("presolve", "off")
        highs.run()
        highs.setOptionValue("presolve", "choose")
