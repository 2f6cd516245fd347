"""The published figures, as the paper's text has them."""

import json

import pytest

from brokerwise.experiments.provision_published import (
    PUBLISHED,
    THRESHOLDS,
    VM_TYPES,
)
from brokerwise.storage.catalog import shipped_catalog


@pytest.mark.parametrize(
    ("trace", "kind", "savings"),
    [
        ("spotify", "c3.large", (33, 27.6, 10.9)),
        ("spotify", "c3.xlarge", (32.7, 17.6, 10.8)),
        ("twitter", "c3.large", (71, 51.4, 29.1)),
        ("twitter", "c3.xlarge", (70, 51.9, 20.3)),
    ],
)
def test_savings_of_greedy_over_random(
    trace: str, kind: str, savings: tuple[float, ...]
) -> None:
    found = PUBLISHED[trace].savings[kind]
    assert tuple(found[t] for t in THRESHOLDS) == savings


def test_the_whole_solution_and_each_step() -> None:
    assert {name: p.whole for name, p in PUBLISHED.items()} == {
        "spotify": 38,
        "twitter": 74,
    }
    steps = {name: p.steps["cost"] for name, p in PUBLISHED.items()}
    assert (steps["spotify"]["(d)"], steps["twitter"]["(d)"]) == (
        "up to 10.7",
        "up to 9.5",
    )
    assert all(list(s) == ["(b)", "(c)", "(d)", "(e)"] for s in steps.values())


def test_vm_types_cost_what_the_catalog_says() -> None:
    for kind in VM_TYPES:
        assert kind.hour_usd == shipped_catalog().offer(kind.name).hour_usd
    large, xlarge = (kind.fleet(1_000) for kind in VM_TYPES)
    assert (large.largest_capacity, xlarge.largest_capacity) == (1_000, 2_000)
    assert large.gigabyte_usd == large.incoming_usd == 0.12


def test_published_figures_can_be_written_down() -> None:
    for published in PUBLISHED.values():
        assert json.loads(json.dumps(published.as_json())) == published.as_json()
