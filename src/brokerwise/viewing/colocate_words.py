"""Why topics of a plan of kind colocate are where they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from brokerwise.report.numbers import percent, significant
from brokerwise.viewing.words import listed, quoted


@dataclass(frozen=True)
class ReplicaAt:
    """A topic, or a replica of it, on a broker: what is predicted there beside others,
    and the most that it may be."""

    broker: str
    beside: Sequence[str]
    predicted_ms: float
    limit_ms: float


def topic_why(
    name: str, replicas: Sequence[ReplicaAt], target_ms: float, margin: float
) -> str:
    """Where a topic is, with whom, and how near it comes to its target."""
    if len(replicas) > 1:
        brokers = listed([replica.broker for replica in replicas])
        return (
            f"{quoted(name)} is split into {len(replicas):,} replicas, on {brokers}: "
            f"whole, it would miss its target of {significant(target_ms)} ms."
        )
    less = f"its target of {significant(target_ms)} ms"
    if margin:
        less += f" less {percent(margin)}"
    only = replicas[0]
    where = (
        f"on {only.broker} {_company(only)}"
        if only.beside
        else (f"alone on {only.broker}")
    )
    return (
        f"{quoted(name)} is {where}: its p90 is predicted to be "
        f"{significant(only.predicted_ms)} ms, {_judged(only)} ({less})."
    )


def replica_text(replica: ReplicaAt, *, is_one_of_several: bool) -> str:
    """What is said beside the broker; of a topic that was not split, `topic_why` has
    said the rest."""
    p90 = f"p90 {significant(replica.predicted_ms)} ms"
    text = f"{p90}, at most {significant(replica.limit_ms)} ms"
    if not is_one_of_several:
        return text
    return f"{text}, {_company(replica) if replica.beside else 'alone'}"


def _company(replica: ReplicaAt) -> str:
    return f"with {listed(list(map(quoted, replica.beside)))}"


def _judged(replica: ReplicaAt) -> str:
    most = f"{significant(replica.limit_ms)} ms"
    if replica.predicted_ms <= replica.limit_ms:
        return f"at most {most} are allowed"
    return f"more than {most}, but these topics were seen to meet their targets"
