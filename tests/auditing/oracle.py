"""What is wrong with a plan, counted in plain dictionaries, one pair at a time."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import inf, isclose
from typing import Any

from tests.auditing.forge import Forgery

from brokerwise.model.workload import Workload


def expected_totals(plan: Forgery, workload: Workload) -> dict[str, int]:
    """How many violations each check must report; those with none are left out."""
    loads: Counter[int] = Counter()
    runs: Counter[tuple[int, int]] = Counter()
    served: Counter[tuple[int, int]] = Counter()
    lists = 0
    for row in plan.rows:
        lists += len(row["topics"]) != len(row["brokers"])
        for topic, broker in zip(row["topics"], row["brokers"], strict=False):
            served[row["subscriber"], topic] += 1
            runs[topic, broker] += 1
    rates = dict(enumerate(workload.rates.tolist()))
    existing = {line["broker"] for line in plan.brokers}
    for (topic, broker), pairs in runs.items():
        loads[broker] += rates.get(topic, 0) * (1 + pairs)
    wanted = {
        (s, t) for s in range(workload.subscribers) for t in workload.interests.of(s)
    }
    totals = {
        "totals": _totals(plan, runs, rates, existing, wanted),
        "cost": _cost(plan, runs, rates, existing, workload),
        "objective": _objective(plan, rates, existing),
        "bound": _bounds(plan, rates, wanted),
        "fleet": _fleet(plan),
        "capacity": _capacity(plan, loads),
        "load": sum(_line_differs(line, loads, runs) for line in plan.brokers),
        "assignment": _assignment(plan, runs),
        "broker": sum(n for (_, b), n in runs.items() if b not in existing),
        "subscribers": _subscribers(plan, workload),
        "lists": lists,
        "repeated": sum(times - 1 for times in served.values()),
        "unwanted": sum(pair not in wanted for pair in served),
        "threshold": _short(plan, workload, set(served) & wanted),
    }
    return {check: total for check, total in totals.items() if total}


def _totals(
    plan: Forgery,
    runs: Counter[tuple[int, int]],
    rates: dict[int, int],
    existing: set[int],
    wanted: set[tuple[int, int]],
) -> int:
    here = {run: n for run, n in runs.items() if run[1] in existing}
    incoming = sum(rates.get(topic, 0) for topic, _ in here)
    outgoing = sum(rates.get(topic, 0) * n for (topic, _), n in here.items())
    truth: dict[str, int] = {
        "brokers": len(plan.brokers),
        "load": incoming + outgoing,
        "pairs": sum(here.values()),
        "incoming": incoming,
        "outgoing": outgoing,
        "delivered": outgoing,
    }
    figures: dict[str, Any] = plan.header["figures"]
    wrong = False
    if plan.header["kind"] == "fill":
        rate = sum(rates[topic] for _, topic in wanted)
        largest = max(t["capacity"] for t in plan.header["fleet"]["broker_types"])
        if plan.header["options"]:
            largest = min(plan.header["options"].values())
        truth["wanted"] = rate
        truth["weighted_wanted"] = sum(_value(plan, rates, *pair) for pair in wanted)
        truth["left_out"] = len({t for _, t in wanted if 2 * rates[t] > largest})
        percent = Fraction(100 * outgoing, rate) if rate else 100
        wrong = not isclose(figures["delivered_percent"], percent, rel_tol=1e-9)
    return wrong + sum(bool(truth[f] != figures[f]) for f in truth if f in figures)


def _value(plan: Forgery, rates: dict[int, int], subscriber: int, topic: int) -> int:
    """What a pair is worth: in the tables are those that do not weigh 1."""
    value: int = rates.get(topic, 0)
    for line in plan.weights.get("topic_weights", []):
        value *= line["weight"] if line["topic"] == topic else 1
    for line in plan.weights.get("subscriber_weights", []):
        value *= line["weight"] if line["subscriber"] == subscriber else 1
    return value


def _objective(plan: Forgery, rates: dict[int, int], existing: set[int]) -> int:
    if plan.header["kind"] != "fill":
        return 0
    value = 0
    for row in plan.rows:
        for topic, broker in zip(row["topics"], row["brokers"], strict=False):
            if broker in existing:
                value += _value(plan, rates, row["subscriber"], topic)
    return int(plan.header["objective"] != value)


def _bounds(plan: Forgery, rates: dict[int, int], wanted: set[tuple[int, int]]) -> int:
    """Bounds and gaps of a plan to fill that are wrong; of others none is edited."""
    if plan.header["kind"] != "fill":
        return 0
    figures, objective = plan.header["figures"], plan.header["objective"]
    everything = sum(_value(plan, rates, *pair) for pair in wanted)
    wrong: int = plan.header["bound"] > everything
    paper = figures["bound_paper"]
    wrong += objective > paper
    if "gap_paper" in figures:
        gap = 0.0 if objective == paper else inf
        if objective:
            gap = abs(paper - objective) / objective
        wrong += not isclose(figures["gap_paper"], gap, rel_tol=1e-9, abs_tol=1e-9)
    if not plan.weights:
        capacity = sum(
            t["capacity"] * t["count"] for t in plan.header["fleet"]["broker_types"]
        )
        capacity = plan.header["options"].get("total_bandwidth", capacity)
        rate = sum(rates[topic] for _, topic in wanted)
        wrong += paper != min(capacity, rate)
    return wrong


def _cost(
    plan: Forgery,
    runs: Counter[tuple[int, int]],
    rates: dict[int, int],
    existing: set[int],
    workload: Workload,
) -> int:
    """Costs that are wrong, the objective among them."""
    if plan.header["kind"] != "provision":
        return 0
    fleet = plan.header["fleet"]
    types = {t["name"]: t["hour_usd"] for t in fleet["broker_types"]}
    hours = Fraction(workload.period_seconds, 3600)
    rent = hours * sum(Fraction(types[b["type"]]) for b in plan.brokers)
    sent = Fraction(fleet["gigabyte_usd"])
    received = sent
    if fleet["gigabyte_in_usd"] is not None:
        received = Fraction(fleet["gigabyte_in_usd"])
    bandwidth = Fraction(0)
    for (topic, broker), pairs in runs.items():
        if broker in existing:
            volume = Fraction(rates.get(topic, 0) * workload.message_bytes, 10**9)
            bandwidth += volume * (received + pairs * sent)
    truth = {
        "cost": rent + bandwidth,
        "cost_brokers": rent,
        "cost_bandwidth": bandwidth,
    }
    figures: dict[str, Any] = plan.header["figures"]
    stated = [(figures[key], usd) for key, usd in truth.items()]
    stated.append((plan.header["objective"], rent + bandwidth))
    return sum(not isclose(said, usd, rel_tol=1e-9) for said, usd in stated)


def _fleet(plan: Forgery) -> int:
    wrong = sum(n > 1 for n in Counter(b["broker"] for b in plan.brokers).values())
    types = {t["name"]: t for t in plan.header["fleet"]["broker_types"]}
    for name, used in Counter(b["type"] for b in plan.brokers).items():
        count = types[name]["count"] if name in types else 0
        wrong += count is not None and used > count
    return wrong


def _capacity(plan: Forgery, loads: Counter[int]) -> int:
    wrong = 0
    types = {t["name"]: t for t in plan.header["fleet"]["broker_types"]}
    for line in plan.brokers:
        true = types.get(line["type"], line)["capacity"]
        wrong += true != line["capacity"]
        wrong += loads[line["broker"]] > min(true, line["capacity"])
    return wrong


def _line_differs(
    line: dict[str, Any], loads: Counter[int], runs: Counter[tuple[int, int]]
) -> bool:
    mine = [n for (_, broker), n in runs.items() if broker == line["broker"]]
    truth = (loads[line["broker"]], len(mine), sum(mine))
    return (line["load"], line["topics"], line["pairs"]) != truth


def _assignment(plan: Forgery, runs: Counter[tuple[int, int]]) -> int:
    said: dict[tuple[int, int], list[int]] = {}
    for line in plan.assignment:
        said.setdefault((line["topic"], line["broker"]), []).append(line["pairs"])
    return sum(said.get(run) != [runs.get(run, 0)] for run in said.keys() | runs.keys())


def _subscribers(plan: Forgery, workload: Workload) -> int:
    ids = [row["subscriber"] for row in plan.rows]
    times = Counter(ids)
    known = range(workload.subscribers)
    wrong = sum(later <= earlier for earlier, later in pairwise(ids))
    wrong += sum(n > 1 for n in times.values())
    wrong += sum(subscriber not in known for subscriber in times)
    wrong += sum(subscriber not in times for subscriber in known)
    return int(wrong)


def _short(plan: Forgery, workload: Workload, received: set[tuple[int, int]]) -> int:
    if plan.header["kind"] != "provision":
        return 0
    short = 0
    for subscriber in range(workload.subscribers):
        threshold = plan.header["threshold"]
        if workload.thresholds is not None and workload.thresholds[subscriber] >= 0:
            threshold = workload.thresholds[subscriber]
        topics = workload.interests.of(subscriber).tolist()
        total = sum(int(workload.rates[t]) for t in topics)
        got = sum(int(workload.rates[t]) for t in topics if (subscriber, t) in received)
        short += got < min(threshold, total)
    return short
