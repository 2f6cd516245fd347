"""A small result of every kind that has a report."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from msgspec import to_builtins
from tests.cli.test_moves_texts import MOVES, PLAN
from tests.planners.colocate.cases import drawn
from tests.reproduce import (
    test_balance_page,
    test_colocate_page,
    test_fill_page,
    test_overlay_page,
)
from tests.reproduce import test_provision as small_trace
from tests.show import (
    test_balance,
    test_colocate,
    test_fill,
    test_latency,
    test_overlay,
    test_profile,
    test_provision,
    test_replay,
)

from brokerwise.reproduce.pages import PAGES
from brokerwise.reproduce.provision_settings import AIMS, PUBLISHED
from brokerwise.runtime.protocol.balance import Balance, BrokerLoad
from brokerwise.show.reports import REPORTS

Result = Mapping[str, Any]
EVERY_REPORT = {**REPORTS, **PAGES}
"""What makes pages of results of all kinds."""
RUN = {"version": "0.1.0", "command": "brokerwise <this> & that"}
DIGEST = "ab12" * 16


def profile() -> Result:
    return test_profile.result_of([6_000, 300, 10, 2], [[0], [0, 1, 2], [2], []])


def comparison() -> Result:
    return test_provision.several(*map(test_provision.result_of, (14, 20)))


def colocate() -> Result:
    found = {
        "kind": "colocate",
        "status": "feasible",
        "objective": 7,
        "bound": 6,
        "gap": 1 / 7,
        "algorithm": "ffd",
        "split": 0,
        "load": 3.25,
        "k": 4,
        "full": 2,
        "ffd": 7,
        "hybrid": None,
        "lfs": 8,
        "bounds": {"count": 5, "columns": 6},
        "predicted": 210,
        "agreed": 100,
        "contradicted": 3,
        "monotone": False,
        "outside": 1,
        "moves": [
            {"topic": "<i>", "replica": 1, "from": 0, "to": 3, "why": "it was late"}
        ],
        "observed": {
            "plan": "out/before",
            "data": "out/seen",
            "brokers": 7,
            "brokers_missed": 1,
            "topics_missed": 1,
        },
        "options": {"split": True},
        "seed": 0,
        "source": "topics.csv",
        "source_digest": DIGEST,
        "model": "out/model",
        "model_source": "simulated",
        "model_digest": DIGEST,
        "out": "out/colocate",
        "digest": DIGEST,
        "seconds": {"total": 0.5},
        **RUN,
    }
    return found | test_colocate.result_of(drawn(20, 3))


def replay() -> Result:
    return {
        "kind": "replay",
        "status": "different",
        "plan": "out/plan",
        "plan_kind": "overlay",
        "digest": DIGEST,
        "messages": 120,
        "deliveries": 1_204,
        "brokers": 2,
        "sessions": 31,
        "load": 1_324,
        "load_planned": 1_325,
        "lost": 1,
        "twice": 0,
        "out_of_order": 0,
        "p50_ms": 0.5,
        "p90_ms": 2.25,
        "p99_ms": 9.0,
        "loads": {
            "b0": {"planned": 700, "seen": 700},
            "b1": {"planned": 625, "seen": 624},
        },
        "cost": 12.5,
        "cost_planned": 12.625,
        "differences": 1,
        "different": [{"what": "topic", "of": "<b>", "planned": 9, "seen": 8}],
        "seconds": {"replay": 1.5, "total": 2.0},
        **RUN,
    }


def skew() -> Result:
    return test_balance.result_of() | {
        "kind": "skew",
        "changes": to_builtins(MOVES.brokers),
        "digest": DIGEST,
        "reason": "cov 1.00 is above 0.10",
        "cov_after": 0.1234,
        "max_load_after": 4e6,
        "move_seconds": 0.25,
        "delivered": 1_200,
        "published": 300,
        "lost": 0,
        "twice": 0,
    }


def decision() -> Result:
    more = {"begins": False, "paused": False, "moves": []}
    return {"kind": "moves decision", **to_builtins(PLAN), **more, **RUN}


def moves() -> Result:
    loads = (BrokerLoad("b<1>", 2e3, 5), BrokerLoad("b2", 1e3, 4))
    balance = Balance("manual", False, "manual", 0, loads, 9.0, 2e3, 1.5e3, 1 / 3)
    done = to_builtins(PLAN) | {
        "state": "done",
        "begun": 5.0,
        "ended": 7.125,
        "outcome": "37 moves: 37 done",
        "states": {"done": 37},
    }
    noted = to_builtins(PLAN) | {"proposal": None, "state": "noted"}
    decisions = [noted, done, to_builtins(PLAN)]
    return {"kind": "moves", **to_builtins(balance), "decisions": decisions, **RUN}


@cache
def reproduce_provision() -> Result:
    cells = [small_trace.cell(threshold) for threshold in (40, 60)]
    workload = small_trace.WORKLOAD
    seconds = {"random": 0.5, "greedy": 0.125, "exact": 2.0, "shared": 0.25}
    capacity = small_trace.CAPACITY
    trace = {
        "name": "twitter",
        "title": "Twitter-shaped, <tiny>",
        "rates": "rates are drawn",
        "digest": DIGEST,
        "topics": workload.topics,
        "subscribers": workload.subscribers,
        "pairs": workload.pairs,
        "capacity": {"capacity": capacity, "vms": 99, "target": 100, "least": 9},
        "published": {**PUBLISHED["twitter"].as_json(), "facts": {}},
        "aim": AIMS.get("twitter"),
        "profile": "profile-twitter.html",
        "facts": {"topics with one follower": 0.25},
        "stage1": [{"threshold": t, "seconds": seconds} for t in (40, 60)],
        "cells": cells,
    }
    return {
        "kind": "reproduce provision",
        "status": "ok",
        "problems": [],
        "traces": [trace],
        "seed": 2,
        "cells": {"computed": 2, "kept": 0},
        "cells_of_other_code": 0,
        **RUN,
    }


def reproduce_fill() -> Result:
    module = test_fill_page
    return module.result(module.quoted(), module.large())


SAMPLES: Mapping[str, Callable[[], Result]] = {
    "profile": profile,
    "provision": test_provision.result_of,
    "provision, several": comparison,
    "fill": test_fill.result_of,
    "colocate": colocate,
    "overlay": test_overlay.result_of,
    "simulate balance": test_balance.result_of,
    "moves": moves,
    "moves decision": decision,
    "replay": replay,
    "replay colocate": lambda: test_replay.result(30.0, 400.0, 40.0),
    "skew": skew,
    "latency evaluate": test_latency.result_of,
    "latency train": test_latency.training_of,
    "reproduce provision": reproduce_provision,
    "reproduce fill": reproduce_fill,
    "reproduce colocate": test_colocate_page.result,
    "reproduce overlay": test_overlay_page.everything,
    "reproduce balance": lambda: test_balance_page.result(live=test_balance_page.LIVE),
}
