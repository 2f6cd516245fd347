"""The balance of a fleet in words and tables."""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from brokerwise.cli.printable import printable
from brokerwise.cli.table import many, size, table

if TYPE_CHECKING:
    from brokerwise.runtime.protocol.balance import (
        Balance,
        BrokerChange,
        Decision,
        Proposal,
    )

DIGEST_SHOWN = 12
_UNITS = ("B/s", "kB/s", "MB/s", "GB/s", "TB/s")


class Bandwidth:
    """Loads in one unit, that of the largest, so that they can be compared."""

    def __init__(self, loads: Iterable[float]) -> None:
        most, power = max(loads, default=0.0), 0
        while most >= 1000 and power < len(_UNITS) - 1:
            most, power = most / 1000, power + 1
        self.unit = _UNITS[power]
        self._scale = 1000.0**power
        self._digits = 0 if most >= 100 or power == 0 else 1

    def number(self, load: float) -> str:
        return f"{load / self._scale:,.{self._digits}f}"

    def text(self, load: float) -> str:
        return f"{self.number(load)} {self.unit}"


def plan_text(decision: "Decision", approve: str) -> str:
    """What would be done, and the command that approves it."""
    found = decision.proposal
    if found is None:
        return printable(f"Nothing to improve: {decision.reason}.")
    in_ = Bandwidth([found.max_load, found.max_load_after])
    heads = ("broker", "load", "after", "sessions moved")
    rows = [_change(change, found, in_) for change in found.brokers]
    best = in_.number(found.bound)
    total = sum(change.load for change in found.brokers)
    total_after = sum(change.load_after for change in found.brokers)
    lines = [
        *([_size_sentence(found)] if found.kind != "moves" else []),
        *table([heads, *rows], names=1),
        f"max load {in_.number(found.max_load)} -> {in_.text(found.max_load_after)} "
        f"(best possible {best}), total {in_.number(total)} -> "
        f"{in_.number(total_after)}, cov {found.cov:.2f} -> {found.cov_after:.2f}, "
        f"{many(found.moves, 'move')}, {size(found.state_bytes)} of state",
        *_cost_lines(found),
        f"why: {decision.reason}",
        f"approve with: {approve}",
    ]
    return printable("\n".join(lines))


def approved_text(decision: "Decision", *, begins: bool) -> str:
    """What came of it, or where it stands."""
    before = "" if begins else "Approved before; nothing was done again. "
    if decision.state == "starting":
        return printable(f"{before}Waiting for its brokers to come up.")
    if decision.state == "running":
        return printable(f"{before}It goes on: {_states(decision)}.")
    seconds = (decision.ended or 0.0) - (decision.begun or 0.0)
    return printable(f"{before}{decision.outcome}, in {seconds:.1f} s.")


def decisions_text(decisions: Sequence["Decision"]) -> str:
    """One a line, the newest first."""
    if not decisions:
        return "No decision yet."
    heads = ("number", "when", "state", "by", "what, and why")
    rows = [
        (
            str(decision.number),
            _clock(decision.at),
            decision.state,
            "itself" if decision.automatic else "operator",
            _what(decision),
        )
        for decision in decisions
    ]
    return printable("\n".join(table([heads, *rows], names=len(heads))))


def balance_text(
    balance: "Balance", decisions: Sequence["Decision"], dry_run: str
) -> str:
    """What the balancer is at; what each broker carries; what was decided last."""
    lines = [f"Balancer: {balance.balancer_status}."]
    if balance.max_load is None:
        lines.append(f"loads are not known: {balance.problem}")
    else:
        lines += _load_lines(balance)
    if decisions:
        lines += ["last decisions:", decisions_text(decisions)]
    if balance.mode == "manual" and not balance.paused:
        lines.append(f"Try: {dry_run}")
    if balance.paused:
        lines.append(f"Go on: {dry_run.replace('--dry-run', '--resume')}")
    return printable("\n".join(lines))


def _load_lines(balance: "Balance") -> list[str]:
    in_ = Bandwidth([b.load for b in balance.brokers])
    rows = [(b.broker, in_.text(b.load), f"{b.sessions:,}") for b in balance.brokers]
    return [
        *table([("broker", "load", "sessions"), *rows], names=1),
        f"max load {in_.text(balance.max_load or 0)}, mean "
        f"{in_.text(balance.mean_load or 0)}, cov {balance.cov or 0:.2f}; "
        f"{many(balance.moves_under_way, 'move')} under way",
    ]


def _change(
    change: "BrokerChange", found: "Proposal", in_: Bandwidth
) -> tuple[str, ...]:
    is_new, ends = change.broker in found.added, change.broker in found.closing
    moved = change.arriving - change.leaving
    both = f" (+{change.arriving:,} -{change.leaving:,})"
    return (
        change.broker,
        "new" if is_new else in_.text(change.load),
        "ends" if ends else in_.text(change.load_after),
        f"{moved:+,}{both if change.arriving and change.leaving else ''}",
    )


def _size_sentence(found: "Proposal") -> str:
    now = len(found.brokers) - len(found.added)
    then = len(found.brokers) - len(found.closing)
    names = ", ".join((*found.added, *found.closing))
    verb = "starts" if len(found.added or found.closing) == 1 else "start"
    if found.closing:
        verb = "ends" if len(found.closing) == 1 else "end"
    return f"From {now:,} to {many(then, 'broker')}: {names} {verb}."


def _cost_lines(found: "Proposal") -> list[str]:
    cost = found.cost
    if cost is None:
        return []
    if found.kind == "moves":
        return [f"cost ${cost.hour:,.2f} an hour, ${cost.month:,.2f} a month, as now"]
    return [
        f"cost ${cost.hour:,.2f} -> ${cost.hour_after:,.2f} an hour, "
        f"${cost.month:,.2f} -> ${cost.month_after:,.2f} a month"
    ]


def _what(decision: "Decision") -> str:
    found = decision.proposal
    if found is None:
        return decision.reason
    what = many(found.moves, "move")
    if found.kind != "moves":
        what = f"{found.kind} ({', '.join((*found.added, *found.closing))}), {what}"
    digest = f" [{decision.digest[:DIGEST_SHOWN]}]"
    came = f"; {decision.outcome}" if decision.outcome else ""
    return f"{what}{digest if decision.state == 'proposed' else ''}, " + (
        f"cov {found.cov:.2f} -> {found.cov_after:.2f}: {decision.reason}{came}"
    )


def _states(decision: "Decision") -> str:
    return ", ".join(f"{count:,} {state}" for state, count in decision.states.items())


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))
