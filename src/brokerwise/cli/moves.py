"""`brokerwise moves`."""

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State, progress, with_state
from brokerwise.cli.moves_request import MovesRequest
from brokerwise.cli.options import Json, Report
from brokerwise.cli.repeating import command_line
from brokerwise.cli.reporting import write_report
from brokerwise.cli.signals import run_until_told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brokerwise.runtime.fleet.operator import BalanceOperator
    from brokerwise.runtime.protocol.balance import AutomaticOptions, Decision

EXIT_REFUSED = 1
_LISTED = 5  # decisions beside the state of the balancer
_REPORTED = 200  # in JSON and in a report


def moves(
    context: typer.Context,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="What would move, and what that would give."),
    ] = False,
    approve: Annotated[
        str | None,
        typer.Option(help="Do exactly what the dry run of this digest showed."),
    ] = None,
    automatic: Annotated[
        bool, typer.Option("--automatic", help="Decide without asking from now on.")
    ] = False,
    manual: Annotated[
        bool, typer.Option("--manual", help="Decide nothing without being asked.")
    ] = False,
    pause: Annotated[
        bool, typer.Option("--pause", help="Begin no more moves.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on.")] = False,
    list_: Annotated[
        int,
        typer.Option(
            "--list", min=0, max=1_000, help="The last so many decisions, and why."
        ),
    ] = 0,
    policy: Annotated[
        str | None,
        typer.Option(
            help="planned, ldm, sdm, gsh, ldm+gsh, sdm+gsh or none (planned)."
        ),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Move only if cov is above this (0.1),")
    ] = None,
    beta: Annotated[
        str | None,
        typer.Option(help="and the mean load above this, such as 300MB/s (0)."),
    ] = None,
    gamma: Annotated[
        float | None, typer.Option(help="gsh: only if cov is above this (0.5),")
    ] = None,
    theta: Annotated[
        str | None, typer.Option(help="and the mean load above this (0).")
    ] = None,
    max_moves: Annotated[
        int | None, typer.Option(min=0, help="At most so many sessions move.")
    ] = None,
    max_state: Annotated[
        str | None, typer.Option(help="At most so much is copied, such as 10MB.")
    ] = None,
    hot_only: Annotated[
        str | None,
        typer.Option(help="Relieve only brokers so far above the mean, such as 20%."),
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(
            help="What a broker can carry, such as 40MB/s: more or fewer brokers may "
            "be proposed."
        ),
    ] = None,
    broker_hour: Annotated[
        float | None, typer.Option(min=0, help="What a broker costs an hour, in USD.")
    ] = None,
    every: Annotated[
        str | None, typer.Option(help="--automatic: how often to look (10s).")
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(help="--automatic: how long a session rests after a move (5min)."),
    ] = None,
    hourly_moves: Annotated[
        int | None,
        typer.Option(min=0, help="--automatic: at most so many moves in any hour."),
    ] = None,
    state: State = DEFAULT_STATE,
    report: Report = None,
    json: Json = False,
) -> None:
    """Balance the load of a fleet: see, try, approve, or leave it to the balancer.

    Without options: what the balancer is at, and what each broker carries. A dry run
    moves nobody; what it shows is done when its digest is approved, and refused if the
    fleet has changed since.

    \b
    Examples:
      brokerwise moves --dry-run --max-moves 50
      brokerwise moves --approve 9f31c2a07be4
      brokerwise moves --automatic --hot-only 20%
      brokerwise moves --dry-run --capacity 40MB/s --broker-hour 0.15
      brokerwise moves --report out/balance.html
    """
    request = MovesRequest(
        dry_run=dry_run,
        approve=approve,
        automatic=automatic,
        manual=manual,
        pause=pause,
        resume=resume,
        list=list_,
        policy=policy,
        alpha=alpha,
        beta=beta,
        gamma=gamma,
        theta=theta,
        max_moves=max_moves,
        max_state=max_state,
        hot_only=hot_only,
        capacity=capacity,
        broker_hour=broker_hour,
        every=every,
        window=window,
        hourly_moves=hourly_moves,
        report=report,
    )
    action, options = request.action(), request.options()

    from brokerwise.runtime.fleet.files import read_fleet
    from brokerwise.runtime.fleet.operator import BalanceOperator, Operator

    operator = BalanceOperator(Operator(read_fleet(state)))
    answer = _Answer(command_line(context), report, json)
    if action == "dry-run":
        _plan(operator, options, state, answer)
    elif action == "approve":
        _approve(operator, request.digest, state, answer)
    elif action == "list":
        _list(operator, list_, json)
    else:
        _change(operator, action, options)
        _show(operator, state, answer)


@dataclass(frozen=True)
class _Answer:
    """How to answer: in words or as JSON, and with a report."""

    command: str
    report: Path | None
    json: bool

    def give(self, kind: str, content: "Mapping[str, Any]", text: str) -> None:
        run = {"version": version("brokerwise"), "command": self.command}
        result = {"kind": kind, **content, **run}
        write_report(self.report, result)
        if self.json:
            print_json(result)
            return
        print_result(text)
        if self.report is not None:
            print_result(f"Report: {self.report}")


def _plan(
    operator: "BalanceOperator",
    options: "AutomaticOptions",
    state: Path,
    answer: _Answer,
) -> None:
    from brokerwise.cli.moves_text import DIGEST_SHOWN, plan_text

    found = run_until_told(operator.plan(options))
    command = f"brokerwise moves --approve {found.digest[:DIGEST_SHOWN]}"
    text = plan_text(found, with_state(command, state))
    answer.give("moves decision", _content(found), text)


def _approve(
    operator: "BalanceOperator", digest: str, state: Path, answer: _Answer
) -> None:
    from brokerwise.cli.console import print_error
    from brokerwise.cli.moves_text import approved_text
    from brokerwise.model.errors import BrokerwiseError
    from brokerwise.runtime.fleet.operator import OperationRefusedError, follow_decision

    try:
        found = run_until_told(operator.approve(digest))
    except OperationRefusedError as refused:
        if refused.status != 409:
            raise
        again = with_state("brokerwise moves --dry-run", state)
        hint = f"Nothing was moved. Make a new plan: {again}"
        print_error(BrokerwiseError(refused.text, hint=hint))
        raise typer.Exit(EXIT_REFUSED) from None
    over = run_until_told(follow_decision(operator, found.number, progress))
    text = approved_text(over, begins=found.begins)
    answer.give("moves decision", _content(over, begins=found.begins), text)


def _list(operator: "BalanceOperator", count: int, json: bool) -> None:
    from brokerwise.cli.moves_text import decisions_text

    found = run_until_told(operator.decisions(count))
    if json:
        print_json({"decisions": [_content(decision) for decision in found]})
    else:
        print_result(decisions_text(found))


def _change(
    operator: "BalanceOperator", action: str, options: "AutomaticOptions"
) -> None:
    from msgspec.structs import asdict

    from brokerwise.runtime.protocol.balance import ModeRequest

    if action in ("automatic", "manual"):
        mode = ModeRequest(automatic=action == "automatic", **asdict(options))
        run_until_told(operator.set_mode(mode))
    elif action == "pause":
        run_until_told(operator.pause())
    elif action == "resume":
        run_until_told(operator.resume())


def _show(operator: "BalanceOperator", state: Path, answer: _Answer) -> None:
    from msgspec import to_builtins

    from brokerwise.cli.moves_text import balance_text

    found = run_until_told(operator.look())
    decisions = run_until_told(operator.decisions(_REPORTED))
    listed = [_content(decision) for decision in decisions]
    next_ = with_state("brokerwise moves --dry-run", state)
    text = balance_text(found, decisions[:_LISTED], next_)
    answer.give("moves", {**to_builtins(found), "decisions": listed}, text)


def _content(decision: "Decision", *, begins: bool = False) -> dict[str, Any]:
    """A decision as JSON: all have the same keys, whatever they were asked for by."""
    from msgspec import to_builtins

    found = to_builtins(decision)
    kept = ("id", "user", "state", "reason")
    moves = [{key: move[key] for key in kept} for move in found.get("moves", ())]
    paused = found.get("paused", False)
    return {**found, "begins": begins, "paused": paused, "moves": moves}
