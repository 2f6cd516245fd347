"""The emergency city on real processes, balanced: one run of `reproduce balance`, and
what it comes to in the words of a simulated one.
"""

import asyncio
import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from brokerwise.model.plan import gap
from brokerwise.reproduce.balance_settings import CITY, GAMMA, LiveCell
from brokerwise.reproduce.emergency.city import broker_places
from brokerwise.reproduce.emergency.judging import Measures, measure
from brokerwise.reproduce.emergency.playing import (
    LoadWatch,
    Played,
    Sample,
    beside,
    play,
    prepare,
)
from brokerwise.reproduce.emergency.scenario import Scenario, generate
from brokerwise.reproduce.emergency.scenario import Settings as ScenarioSettings
from brokerwise.reproduce.runner import Record
from brokerwise.runtime.client.data_cluster import DataClient
from brokerwise.runtime.fleet.balance_answers import Decision
from brokerwise.runtime.fleet.operator import BalanceOperator, Operator
from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.fleet.settings import DataClusterSettings, Settings
from brokerwise.runtime.fleet.supervisor import RunningFleet, running_fleet

_MOST_KEPT = 120  # moments of a run
_OVER = ("done", "declined", "failed")


def live_record(
    cell: LiveCell,
    played: Played,
    measures: Measures,
    samples: Sequence[Sample],
    decisions: Sequence[Decision],
) -> Record:
    """Of the time in which the scenario was played; loads in bytes a second."""
    end = played.began + played.settings.seconds
    seen = [sample for sample in samples if played.began <= sample.at <= end]
    moving = [one for one in decisions if one.states]
    return {
        **cell.inputs(),
        "problems": _problems(measures, seen),
        **_over_time(seen, moving, played.began),
        **_totals(seen, moving, played.began),
        **_before_and_after(seen, moving, played),
        **_deliveries(measures),
    }


def _over_time(
    seen: Sequence[Sample], moving: Sequence[Decision], began: float
) -> Record:
    every = max(1, -(-len(seen) // _MOST_KEPT))
    kept = [*seen[::every], *(seen[-1:] if (len(seen) - 1) % every else [])]
    return {
        "times": [round(sample.at - began, 1) for sample in kept],
        "loads": [[round(load) for load in sample.loads] for sample in kept],
        "cov_over_time": [round(sample.cov, 5) for sample in kept],
        "moves_over_time": [_moves_until(moving, sample.at) for sample in kept],
        "sessions": list(seen[-1].sessions) if seen else [],
    }


def _totals(seen: Sequence[Sample], moving: Sequence[Decision], began: float) -> Record:
    last = seen[-1] if seen else None
    bound = next((one.proposal.bound for one in moving[::-1] if one.proposal), None)
    most = max(last.loads) if last else 0.0
    return {
        "cov": round(fmean(s.cov for s in seen), 6) if seen else 0.0,
        "cov_end": round(last.cov, 6) if last else 0.0,
        "max_load": round(fmean(max(s.loads) for s in seen)) if seen else 0,
        "max_load_end": round(most),
        "mean_load_end": round(fmean(last.loads)) if last else 0,
        "bound": None if bound is None else round(bound),
        "gap": None if bound is None or not most else round(gap(most, bound) or 0.0, 6),
        "moves": sum(_done(one) for one in moving),
        "moves_not_done": {
            state: sum(one.states.get(state, 0) for one in moving)
            for state in _OVER[1:]
        },
        "first_moves": _done(moving[0]) if moving else 0,
        "decisions": len(moving),
        "last_move": round(moving[-1].at - began, 1) if moving else None,
    }


def _before_and_after(
    seen: Sequence[Sample], moving: Sequence[Decision], played: Played
) -> Record:
    """Before the first decision that moved something, or, if there was none, when all
    had subscribed; and at the end."""
    first = moving[0].at if moving else played.began + played.settings.settled
    number = bisect_right([sample.at for sample in seen], first) - 1
    if not seen:
        return {"cov_before": 0.0, "cov_after": 0.0, "max_before": 0, "max_after": 0}
    before, after = seen[max(0, number)], seen[-1]
    return {
        "cov_before": round(before.cov, 6),
        "cov_after": round(after.cov, 6),
        "max_before": round(max(before.loads)),
        "max_after": round(max(after.loads)),
    }


def _deliveries(measures: Measures) -> Record:
    judged = measures.judgement
    return {
        "deliveries": judged.handed,
        "subscriptions": judged.chains,
        "lost": judged.lost,
        "twice": judged.twice,
        "wrong": judged.wrong + judged.early + judged.unknown,
        "skipped": measures.skipped,
        "reports": measures.reports,
        "spark_share": round(measures.spark_share, 4),
        "seconds": round(measures.seconds, 1),
    }


def _problems(measures: Measures, seen: Sequence[Sample]) -> list[str]:
    judged = measures.judgement
    counts = {
        "results lost": judged.lost,
        "results shown twice": judged.twice,
        "results that are wrong": judged.wrong + judged.early + judged.unknown,
        "reports lost": measures.reports_lost,
        "reports fed twice": measures.reports_twice,
        "results that clients were told will not come": measures.gaps,
    }
    said = [f"{count:,} {what}" for what, count in counts.items() if count]
    if not measures.settled:
        said.append("not everything had arrived when it ended")
    if not seen:
        said.append("the loads of the fleet could not be seen")
    return said + judged.examples


def _moves_until(moving: Sequence[Decision], at: float) -> int:
    return sum(_done(one) for one in moving if one.at <= at)


def _done(decision: Decision) -> int:
    return decision.states.get("done", 0)


# The run


MOST_DECISIONS = 1_000
Tell = Callable[[str], None]


def run_live(cell: LiveCell, tell: Tell = lambda line: None) -> Record:
    """Start a fleet and a data cluster, play the city, and judge what everyone got.

    Takes about two minutes more than the cell's: Spark has to start, the last results
    to arrive. All that was started has ended when it returns, also by an error; then
    what its processes said is kept, and told where.
    """
    directory = Path(tempfile.mkdtemp(prefix="brokerwise-live-"))
    try:
        seen = asyncio.run(_play(cell, directory, tell))
        tell("computing what everyone should have got")
        measures = measure(seen.played)
    except Exception:
        tell(f"what the processes said: {directory / 'fleet' / 'logs'}")
        raise
    except BaseException:
        shutil.rmtree(directory)
        raise
    shutil.rmtree(directory)
    return live_record(cell, seen.played, measures, seen.samples, seen.decisions)


def scenario_of(cell: LiveCell) -> Scenario:
    """The same users and reports for all cells of a seed."""
    settings = replace(ScenarioSettings(), users=cell.users)
    settings = replace(settings, seed=settings.seed + cell.seed)
    return generate(settings.lasting(cell.minutes * 60))


@dataclass(frozen=True)
class _Seen:
    """What a run has left; decisions in order of time."""

    played: Played
    samples: list[Sample]
    decisions: list[Decision]


async def _play(cell: LiveCell, directory: Path, tell: Tell) -> _Seen:
    places = broker_places(cell.brokers)
    seed = seed_of_count(cell.brokers, cell.placement, places=places)
    settings = Settings(data_cluster=DataClusterSettings())
    async with running_fleet(
        seed, state=directory / "fleet", settings=settings, tell=tell
    ) as fleet:
        scenario = scenario_of(cell)
        await prepare(DataClient.of(fleet.file), scenario.settings)
        return await _balanced(cell, fleet, scenario, directory, tell)


async def _balanced(
    cell: LiveCell, fleet: RunningFleet, scenario: Scenario, directory: Path, tell: Tell
) -> _Seen:
    balancing = BalanceOperator(Operator(fleet.file))
    if cell.policy != "none":
        await balancing.set_mode(
            True,
            {
                "policy": cell.policy,
                "alpha": CITY.alpha,
                "beta": CITY.beta,
                "gamma": GAMMA,
                "theta": CITY.beta,
            },
        )
    watch = LoadWatch(balancing)
    async with beside(watch.run()):
        played = await play(fleet, scenario, directory, tell=tell)
    found = await balancing.decisions(MOST_DECISIONS)
    return _Seen(played, watch.samples, sorted(found, key=lambda one: one.at))
