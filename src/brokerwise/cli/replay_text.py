"""What is said of a replay."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from brokerwise.model.network import THOUSANDTHS

if TYPE_CHECKING:
    from brokerwise.runtime.load.traffic import Outcome, Period

SHOWN = 10  # differences on screen
LISTED = 1_000  # in JSON


def replay_result(period: "Period", outcome: "Outcome") -> dict[str, Any]:
    """What --json prints, but for the seconds; costs in the network's unit."""
    findings, wrong = outcome.findings, outcome.differences
    result: dict[str, Any] = {
        "kind": "replay",
        "status": "equal" if outcome.ok else "different",
        "plan": period.seed.plan,
        "plan_kind": period.seed.kind,
        "digest": period.seed.digest,
        "periods": 1,
        "messages": outcome.messages,
        "deliveries": outcome.seen.deliveries,
        "brokers": len(outcome.loads),
        "sessions": len(period.seed.sessions),
        "load": sum(load.seen for load in outcome.loads.values()),
        "load_planned": sum(load.planned for load in outcome.loads.values()),
        "lost": findings.lost,
        "twice": findings.twice,
        "out_of_order": findings.disordered,
        "foreign": findings.foreign,
        "p50_ms": outcome.latencies.p50,
        "p90_ms": outcome.latencies.p90,
        "p99_ms": outcome.latencies.p99,
        "loads": {
            broker: {"planned": load.planned, "seen": load.seen}
            for broker, load in outcome.loads.items()
        },
        "differences": len(wrong),
        "different": [
            {"what": d.what, "of": d.of, "planned": d.planned, "seen": d.seen}
            for d in wrong[:LISTED]
        ],
    }
    if outcome.cost is not None:
        result["cost"] = outcome.cost.seen / THOUSANDTHS
        result["cost_planned"] = outcome.cost.planned / THOUSANDTHS
    return result


def replay_text(result: dict[str, Any]) -> str:
    """One line of what happened, the verdict, and each broker's load."""
    said = [_happened(result), *_cost(result), _verdict(result)]
    return "\n".join([*said, *_loads(result), *_different(result)])


def _happened(result: dict[str, Any]) -> str:
    found = f"lost {result['lost']:,}, twice {result['twice']:,}"
    if result["out_of_order"]:
        found += f", out of order {result['out_of_order']:,}"
    if result["foreign"]:
        found += f", not ours {result['foreign']:,}"
    return (
        f"1 period, {_counted(result['messages'], 'message')}, "
        f"{result['deliveries']:,} deliver{_y(result['deliveries'])}   "
        f"p90 {result['p90_ms']:.1f} ms, {found}"
    )


def _verdict(result: dict[str, Any]) -> str:
    brokers = _counted(result["brokers"], "broker")
    off = sum(load["planned"] != load["seen"] for load in result["loads"].values())
    if off:
        return f"Load seen differs from load planned on {off:,} of {brokers}:"
    if result["differences"]:
        return f"Load is as planned on {brokers}, but not message for message:"
    return f"Load seen equals load planned on {brokers}, message for message:"


def _cost(result: dict[str, Any]) -> Iterator[str]:
    if "cost" in result:
        cost, planned = result["cost"], result["cost_planned"]
        said = "as planned" if cost == planned else f"planned {planned:,.3f}"
        yield f"Messages on each link times its cost: {cost:,.3f}, {said}"


def _loads(result: dict[str, Any]) -> Iterator[str]:
    loads = result["loads"]
    width = max([6, *map(len, loads)])
    yield f"  {'broker':<{width}}  {'planned':>12}  {'seen':>12}"
    for broker, load in loads.items():
        planned, seen = load["planned"], load["seen"]
        remark = "" if seen == planned else f"  {seen - planned:+,}"
        yield f"  {broker:<{width}}  {planned:>12,}  {seen:>12,}{remark}"


def _different(result: dict[str, Any]) -> Iterator[str]:
    """The first counts that are not as planned."""
    for one in result["different"][:SHOWN]:
        yield (
            f"  {one['what']} {one['of']}: planned {one['planned']:,}, "
            f"seen {one['seen']:,}"
        )
    more = result["differences"] - SHOWN
    if more > 0:
        yield f"  and {more:,} more"


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _y(number: int) -> str:
    return "y" if number == 1 else "ies"
