"""`brokerwise provision`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.options import Conf, Force, Json, Master, Report, Seed, parse_conf
from brokerwise.cli.printable import printable
from brokerwise.cli.provision_request import (
    FleetRequest,
    Request,
    parse_thresholds,
)
from brokerwise.cli.repeating import command_line
from brokerwise.cli.reporting import write_report

if TYPE_CHECKING:
    from brokerwise.model.plan import Plan
    from brokerwise.pipeline.provision.engines import Engine
    from brokerwise.pipeline.provision.job import Target
    from brokerwise.planners.provision.portfolio import Options
    from brokerwise.storage.plan import PlanHeader
    from brokerwise.storage.workload import WorkloadHeader

EXIT_NO = 1

# Beyond, the published steps would take longer than everything else: the first of
# them looks at every pair on its own.
STEPS_AT_MOST = 20_000_000


def provision(
    context: typer.Context,
    workload: Annotated[str, typer.Argument(help="A workload directory.")],
    threshold: Annotated[
        str,
        typer.Option(help="What every subscriber must get, if it wants as much: N[,N]"),
    ],
    broker: Annotated[
        list[str] | None,
        typer.Option(help="A type; a,b is a mix; may be repeated to compare."),
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(help="Or any broker: messages per period, or 64Mbit/s."),
    ] = None,
    broker_hour: Annotated[
        float | None, typer.Option(help="Its price of an hour, in dollars.")
    ] = None,
    gigabyte: Annotated[
        float | None, typer.Option(help="Price of a gigabyte sent (and received).")
    ] = None,
    gigabyte_in: Annotated[
        float | None, typer.Option(help="Price of a gigabyte received, if another.")
    ] = None,
    catalog: Annotated[
        str | None, typer.Option(help="Your own types: CSV type,hour_usd,bandwidth.")
    ] = None,
    peak_to_mean: Annotated[
        float, typer.Option(help="How much busier the busiest time is than the mean.")
    ] = 1.0,
    headroom: Annotated[
        str, typer.Option(help="The share of every broker that stays free.")
    ] = "0%",
    budget: Annotated[
        float | None, typer.Option(help="Can it be had for so many dollars a period?")
    ] = None,
    selection: Annotated[
        str, typer.Option(help="random, greedy, exact, shared, or cheapest of them.")
    ] = "cheapest",
    packing: Annotated[
        str,
        typer.Option(
            help="first-fit, grouped, grouped-largest, most-free, custom, tight, or "
            "cheapest of them."
        ),
    ] = "cheapest",
    rounds: Annotated[
        int | None, typer.Option(min=0, help="Rounds to raise the bound, at most.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Stop searching after so many seconds.")
    ] = None,
    previous: Annotated[
        str | None,
        typer.Option("--from", metavar="PLAN", help="Change this plan where needed."),
    ] = None,
    max_moves: Annotated[
        int | None, typer.Option(min=0, help="Pairs that may change brokers, at most.")
    ] = None,
    seed: Seed = 0,
    out: Annotated[str, typer.Option(help="Directory to write.")] = "out/plan",
    force: Force = False,
    report: Report = None,
    json: Json = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """The cheapest fleet that satisfies every subscriber, with a proven gap.

    Chooses which pairs are served and on which brokers, so that every subscriber
    gets its threshold and brokers and bandwidth cost least. The plan is audited
    before it appears. Several thresholds or --broker options are compared.

    Exits 1 if there is no such fleet ("infeasible": that is proven), if none was
    found ("unknown": there may be one), or if none within the --budget is known.

    \b
    Example:
      brokerwise provision out/workload --threshold 100 --broker c3.large
    """
    from brokerwise.pipeline.progress import deadline

    stop = deadline(seconds)
    progress = LiveProgress()
    settings = parse_conf(conf)
    request = Request(
        workload=workload,
        thresholds=parse_thresholds(threshold),
        fleet=FleetRequest(
            tuple(broker or ()),
            capacity,
            broker_hour,
            gigabyte,
            gigabyte_in,
            catalog,
            peak_to_mean,
            headroom,
        ),
        budget=budget,
        previous=previous,
        max_moves=max_moves,
        out=out,
        force=force,
        report=report,
    )
    from brokerwise.planners.provision.portfolio import Options

    options = Options(selection, packing, rounds, seed, stop)
    job = _Job(request, options, master, settings, progress)
    result = job.run(command_line(context))
    if json:
        print_json(result)
    else:
        from brokerwise.show.provision import provision_text

        print_result(printable(provision_text(result, out, report)))
    if not all(map(_good, result.get("plans", [result]))):
        raise typer.Exit(EXIT_NO)


@dataclass(frozen=True)
class _Made:
    """One plan as it was made; `moves` says what changed from the one before."""

    target: "Target"
    plan: "Plan"
    header: "PlanHeader | None"
    steps: tuple[Any, ...]
    moves: Mapping[str, Any]


@dataclass(frozen=True)
class _Job:
    request: Request
    options: "Options"
    master: str | None
    settings: dict[str, str]
    progress: LiveProgress

    def run(self, command: str) -> dict[str, Any]:
        """Make the plans, and the report of them; what --json prints."""
        from importlib.metadata import version

        from brokerwise.storage.place import Place
        from brokerwise.storage.workload import read_header

        place = Place(self.request.workload)
        header = read_header(place)
        targets = self.request.targets(header)
        try:
            with self._engine(place, header, targets) as engine:
                made = self._make(engine, targets)
                seconds = {**self.progress.seconds, "total": self.progress.total}
        finally:
            self.request.remove_empty_folder()
        run = {
            "workload": str(place),
            "workload_digest": header.digest,
            "version": version("brokerwise"),
            "command": command,
        }
        plans = self._results(made, header)
        if len(plans) == 1:
            result = {**plans[0], **run, "seconds": seconds}
        else:
            whole = {key: seconds[key] for key in ("session", "total")}
            for plan in plans:
                plan["seconds"] |= whole
            result = {"kind": "provision", **run, "plans": plans, "seconds": seconds}
        if any(m.header for m in made):
            self._told_of_steps(result, header)
            self._keep(result, made, run)
            write_report(self.request.report, result)
        return result

    def _make(self, engine: "Engine", targets: "Sequence[Target]") -> list[_Made]:
        request = self.request
        if request.previous is not None:
            return [self._replan(engine, targets[0], request.previous)]
        from brokerwise.pipeline.provision.job import provision_directory

        done = provision_directory(
            engine,
            targets,
            self.options,
            force=request.force,
            progress=self.progress,
            with_steps=self._with_steps(engine.header),
        )
        return [_Made(d.target, d.plan, d.header, d.steps, {}) for d in done]

    def _replan(self, engine: "Engine", target: "Target", previous: str) -> _Made:
        from brokerwise.pipeline.provision.replan import replan_directory
        from brokerwise.show.provision import moves_result
        from brokerwise.storage.place import Place

        limit = self.request.max_moves
        done = replan_directory(
            engine,
            target,
            self.options,
            previous=Place(previous),
            max_moves=limit,
            force=self.request.force,
            progress=self.progress,
        )
        moves = moves_result(done, limit) if done.header is not None else {}
        return _Made(target, done.plan, done.header, (), moves)

    @contextmanager
    def _engine(
        self, place: Any, header: "WorkloadHeader", targets: "Sequence[Target]"
    ) -> "Iterator[Engine]":
        """This process, or Spark for what is large, or asked for on Spark."""
        from brokerwise.pipeline.provision.engines import (
            IN_MEMORY,
            MemoryEngine,
            SparkEngine,
        )
        from brokerwise.storage.output import Output
        from brokerwise.storage.plan import HEADER

        if header.pairs <= IN_MEMORY and self.master is None and not self.settings:
            self.progress.seconds["session"] = 0.0  # none was needed
            with self.progress.stage("read"):
                engine = MemoryEngine(place)
            yield engine
            return
        for target in targets:  # what may not be replaced should not wait for Spark
            Output.begin(target.out, HEADER, force=self.request.force).abort()
        with self.progress.session(self.master, self.settings) as spark:
            yield SparkEngine(spark, place)

    def _with_steps(self, header: "WorkloadHeader") -> bool:
        return self.request.report is not None and header.pairs <= STEPS_AT_MOST

    def _results(
        self, made: Sequence[_Made], header: "WorkloadHeader"
    ) -> list[dict[str, Any]]:
        """Each plan, with what only a report shows."""
        from brokerwise.show.provision import provision_details
        from brokerwise.storage.place import Place
        from brokerwise.storage.workload import read_topics

        plans = [self._result(each, header) for each in made]
        if not any(each.header for each in made):
            return plans
        topics = read_topics(Place(self.request.workload), header)
        for plan, each in zip(plans, made, strict=True):
            if each.header is not None:
                plan["details"] = provision_details(each.plan, each.steps, topics, plan)
        return plans

    def _result(self, made: _Made, header: "WorkloadHeader") -> dict[str, Any]:
        from brokerwise.pipeline.provision.blocks import has_thresholds
        from brokerwise.show.provision import budget_result, naive_result, plan_result
        from brokerwise.storage.place import Place

        parts = header.files["interests"]
        facts = {
            "period_seconds": header.period_seconds,
            "message_bytes": header.message_bytes,
            "subscribers": header.subscribers,
            "pairs_wanted": header.pairs,
            "own_thresholds": has_thresholds(Place(self.request.workload), parts),
            "prices_assumed": self.request.fleet.assumes_prices,
            **budget_result(made.plan, self.request.budget),
            **naive_result(made.steps),
            **made.moves,
        }
        return plan_result(made.plan, made.header, made.target.out, facts)

    def _keep(
        self, result: dict[str, Any], made: Sequence[_Made], run: Mapping[str, Any]
    ) -> None:
        """What is printed stays with what it is about: each plan, and all of them."""
        from brokerwise.show.provision import plans_of
        from brokerwise.storage.output import keep_result
        from brokerwise.storage.place import Place

        for plan, each in zip(plans_of(result), made, strict=True):
            if each.header is not None:
                keep_result(each.target.out, {**plan, **run})
        if "plans" in result:
            keep_result(Place(self.request.out), result)

    def _told_of_steps(self, result: dict[str, Any], header: "WorkloadHeader") -> None:
        """Say why a report has no steps, if it has none."""
        if self.request.report is not None and not self._with_steps(header):
            result["steps_left_out"] = (
                f"left out: they take too long for {header.pairs:,} pairs "
                f"(limit {STEPS_AT_MOST:,})"
            )


def _good(plan: Mapping[str, Any]) -> bool:
    from brokerwise.show.results import is_plan

    return is_plan(plan) and plan.get("affordable", "yes") == "yes"
