"""How a feed went, in words."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from brokerwise.cli.fleet_options import with_state
from brokerwise.cli.printable import printable
from brokerwise.cli.table import many

if TYPE_CHECKING:
    from brokerwise.runtime.client.data_cluster import FeedResult


def feed_text(dataset: str, result: "FeedResult", seconds: float, state: Path) -> str:
    lines = [f"{_sentence(result)} ({seconds:.1f} s)"]
    lines += [f"  line {one.line:,}: {one.reason}" for one in result.reasons]
    more = result.rejected + result.too_long - len(result.reasons)
    if result.reasons and more > 0:
        lines.append(f"  and {more:,} more")
    if result.rejected:
        show = with_state(f"brokerwise dataset show {dataset}", state)
        lines.append(f"See those kept aside: {show}")
    if result.repeated and result.repeated == result.records:
        lines.append("Feed them all the same: --again")
    return printable("\n".join(lines))


def feed_json(dataset: str, result: "FeedResult", seconds: float) -> dict[str, Any]:
    reasons = [{"line": one.line, "reason": one.reason} for one in result.reasons]
    return {
        "dataset": dataset,
        "records": result.records,
        "repeated": result.repeated,
        "rejected": result.rejected,
        "too_long": result.too_long,
        "reasons": reasons,
        "seconds": {"total": round(seconds, 3)},
    }


def _sentence(result: "FeedResult") -> str:
    parts = [f"{many(result.records, 'record')} in"]
    if result.repeated and result.repeated == result.records:
        parts = [f"{parts[0]}, all fed before and not again"]
    elif result.repeated:
        parts.append(f"{result.repeated:,} of them fed before and not again")
    if result.rejected:
        parts.append(f"{result.rejected:,} kept aside")
    if result.too_long:
        parts.append(f"{result.too_long:,} left out")
    return ", ".join(parts)
