"""The best possible plan of small problems by a mixed-integer program."""

from typing import Any

import highspy

from brokerwise.model.fleet import Fleet
from brokerwise.model.units import hours
from brokerwise.model.workload import Workload


def needs(workload: Workload, threshold: int) -> list[int]:
    """What each subscriber must receive."""
    found = []
    for v in range(workload.subscribers):
        own = -1 if workload.thresholds is None else int(workload.thresholds[v])
        wanted = int(workload.rates[workload.interests.of(v)].sum())
        found.append(min(threshold if own < 0 else own, wanted))
    return found


def unit_prices(workload: Workload, fleet: Fleet) -> tuple[float, float]:
    """Dollars for a unit of load in and out."""
    gigabytes = workload.message_bytes / 1e9
    return fleet.incoming_usd * gigabytes, fleet.gigabyte_usd * gigabytes


def cheapest_by_highs(
    workload: Workload,
    fleet: Fleet,
    threshold: int,
    brokers: int,
    seconds: float = float("inf"),
) -> float | None:
    """The mixed-integer program of the paper, solved by HiGHS; one broker type.

    None if there is no plan with so many brokers, or if it takes longer.
    """
    (kind,) = fleet
    price_in, price_out = unit_prices(workload, fleet)
    rent = kind.hour_usd * hours(workload.period_seconds)
    rates = workload.rates.tolist()
    h: Any = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("time_limit", seconds)
    h.setOptionValue("mip_rel_gap", 1e-9)
    used = [h.addBinary(obj=rent) for _ in range(brokers)]
    carries = {
        (t, b): h.addBinary(obj=price_in * rates[t])
        for t in range(workload.topics)
        for b in range(brokers)
    }
    serves = {}
    for v in range(workload.subscribers):
        for t in workload.interests.of(v).tolist():
            for b in range(brokers):
                serves[v, t, b] = h.addBinary(obj=price_out * rates[t])
                h.addConstr(serves[v, t, b] <= carries[t, b])
    for v, need in enumerate(needs(workload, threshold)):
        topics = workload.interests.of(v).tolist()
        if not topics:
            continue
        for t in topics:
            h.addConstr(h.qsum(serves[v, t, b] for b in range(brokers)) <= 1)
        h.addConstr(
            h.qsum(rates[t] * serves[v, t, b] for t in topics for b in range(brokers))
            >= need
        )
    for b in range(brokers):
        load = [rates[t] * carries[t, b] for t in range(workload.topics)]
        load += [rates[t] * x for (_, t, c), x in serves.items() if c == b]
        h.addConstr(h.qsum(load) <= kind.capacity * used[b])
        if b:
            h.addConstr(used[b] <= used[b - 1])
    h.run()
    if h.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return float(h.getInfo().objective_function_value)
