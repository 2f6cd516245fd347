"""Tiny inputs of the planning half, written into the working directory."""

from collections.abc import Mapping
from pathlib import Path

import brokerwise

WANTED = {
    "u0": "world sport",
    "u1": "world local",
    "u2": "world sport local chess",
    "u3": "chess",
    "u4": "world chess silent",
    "u5": "sport local",
    "u6": "silent",
    "u7": "world sport",
}
RATES = {"world": 10, "sport": 8, "local": 5, "chess": 3, "silent": 0}
FILES = {
    "own.csv": "type,hour_usd,capacity\ntiny,0.01,2\nsmall,0.1,45\nlarge,0.15,90\n",
    "two.csv": "type,hour_usd,capacity,count\nb,1,15,2\nc,1,40,\n",
    "topics.csv": "topic,weight\nchess,4\nlocal,0\n",
    "subscribers.csv": "subscriber,weight\nu2,10\n",
}


def write_files() -> None:
    for name, text in FILES.items():
        Path(name).write_text(text)


def newsroom(name: str, more: Mapping[str, str] | None = None) -> str:
    """Eight subscribers of five topics, and maybe more; returns its digest."""
    wanted = {**WANTED, **(more or {})}
    pairs = [(topic, u) for u, topics in wanted.items() for topic in topics.split()]
    topics, subscribers = zip(*pairs, strict=True)
    workload = brokerwise.Workload.from_pairs(
        topics=topics, subscribers=subscribers, rates=RATES
    )
    return brokerwise.write_workload(workload, name)


def three_apart(name: str) -> None:
    """Three topics of which no two fit on a broker of 15."""
    workload = brokerwise.Workload.from_pairs(
        topics=["a", "b", "c"],
        subscribers=["u1", "u2", "u3"],
        rates={"a": 5, "b": 5, "c": 5},
    )
    brokerwise.write_workload(workload, name)


def uniform() -> brokerwise.Workload:
    return brokerwise.uniform(topics=20, subscribers=30, each=4, rates="8-19", seed=3)
