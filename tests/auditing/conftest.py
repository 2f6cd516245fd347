"""A small plan whose every number can be checked by eye."""

from pathlib import Path

import pytest
from tests.auditing.naive import provisioned, saved

from brokerwise.model.workload import Workload

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


@pytest.fixture
def newsroom() -> Workload:
    pairs = [(topic, u) for u, topics in WANTED.items() for topic in topics.split()]
    topics, subscribers = zip(*pairs, strict=True)
    return Workload.from_pairs(topics=topics, subscribers=subscribers, rates=RATES)


@pytest.fixture
def plan_folder(newsroom: Workload, tmp_path: Path) -> Path:
    """Threshold 12 on brokers of capacity 45:

    broker 0 (load 40) has world for u0, u1, u2; broker 1 (45) world for u4, u7 and
    local for u1, u5; broker 2 (40) sport for u0, u2, u5, u7; broker 3 (9) chess for
    u3, u4.
    """
    plan = provisioned(newsroom, threshold=12, capacity=45)
    return saved(plan, newsroom, tmp_path)
