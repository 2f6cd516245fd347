"""Whether a simulated run is what it says, counted again.

Nothing of the planners or of the simulator is used here: loads are added up pair by
pair, and imbalance is stated again.
"""

from collections.abc import Iterator
from statistics import fmean, pstdev

from brokerwise.model.snapshot import Snapshot
from brokerwise.runtime.simulation.result import SimulationResult

_EXACT = 1e-9


def problems(run: SimulationResult) -> list[str]:
    return [*_ends_problems(run), *_cov_problems(run), *_move_problems(run)]


def recounted(snapshot: Snapshot) -> list[int]:
    """Each broker's load: every pair's rate, and each topic's once more."""
    loads = [0] * snapshot.brokers
    carried: set[tuple[int, int]] = set()
    offsets, topics = snapshot.wanted.offsets.tolist(), snapshot.wanted.topics.tolist()
    rates = snapshot.rates.tolist()
    for session, broker in enumerate(snapshot.places.tolist()):
        for topic in topics[offsets[session] : offsets[session + 1]]:
            first = (broker, topic) not in carried
            carried.add((broker, topic))
            loads[broker] += rates[topic] * (1 + first)
    return loads


def _ends_problems(run: SimulationResult) -> Iterator[str]:
    said, found = run.loads[-1].tolist(), recounted(run.end)
    if said != found:
        yield f"says loads end as {said}, but they are {found}"
    if found and max(found) < run.bound:
        yield f"max load {max(found):,} is below the bound of {run.bound:,}"
    places = [0] * run.end.brokers
    for broker in run.end.places.tolist():
        places[broker] += 1
    if places != run.sessions[-1].tolist():
        yield f"says sessions end as {run.sessions[-1].tolist()}, but they are {places}"


def _cov_problems(run: SimulationResult) -> Iterator[str]:
    for at, row, said in zip(run.times, run.loads.tolist(), run.cov, strict=True):
        mean = fmean(row)
        found = pstdev(row) / mean if mean else 0.0
        if abs(found - said) > _EXACT:
            yield f"says cov is {said:.6f} at {at:g} s, but it is {found:.6f}"
            return


def _move_problems(run: SimulationResult) -> Iterator[str]:
    """A session leaves from where it was moved to, and goes elsewhere."""
    last: dict[int, int] = {}
    for move in run.moves:
        if move.source == move.target:
            yield f"user {move.user} moves to where it is at {move.at:g} s"
            return
        if last.get(move.user, move.source) != move.source:
            yield (
                f"user {move.user} leaves broker {move.source} at {move.at:g} s, but "
                f"was moved to {last[move.user]}"
            )
            return
        last[move.user] = move.target
