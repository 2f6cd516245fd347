"""From a plan and the workload as it is now to the plan to go on with."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from brokerwise.auditing.files import staged_case
from brokerwise.kernels.keeping import Tally
from brokerwise.kernels.placing import Cursor, Homes
from brokerwise.kernels.selection import Rule
from brokerwise.model.interests import Interests
from brokerwise.model.plan import Plan
from brokerwise.model.units import checked_count
from brokerwise.pipeline.plans import refuse_wrong
from brokerwise.pipeline.progress import Progress, Stopwatch
from brokerwise.pipeline.provision.blocks import has_thresholds
from brokerwise.pipeline.provision.engines import Engine
from brokerwise.pipeline.provision.former import (
    Changes,
    FormerPlan,
    Keeping,
    Own,
    Rules,
    Runs,
    Shared,
    blocks_of,
    changes,
    open_former,
    served,
    stayed,
    tallied,
    tallied_in_tasks,
    write_stayed,
)
from brokerwise.pipeline.provision.job import Target
from brokerwise.planners.provision.bound import paper_bound
from brokerwise.planners.provision.choice import Choice
from brokerwise.planners.provision.draft import Draft, Refusal
from brokerwise.planners.provision.layout import Former
from brokerwise.planners.provision.packing.pack import pack
from brokerwise.planners.provision.packing.pieces import Demand, Packing
from brokerwise.planners.provision.portfolio import Options
from brokerwise.planners.provision.replan import (
    Proposal,
    ServedSelection,
    Standstill,
    replan,
    stay,
)
from brokerwise.planners.provision.scan import MemoryScan
from brokerwise.planners.provision.solve import Provisioning
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.plan import HEADER, PlanHeader, finish_plan_header

# Blocks of subscribers that a task compares.
COMPARED = 16


@dataclass(frozen=True, eq=False)
class Replanned:
    """A plan to go on with, and what changes.

    A pair is a topic and a subscriber by their names. `moves` were served before and
    are now, by another broker; `kept` by the same one; `added` are served only now,
    `removed` were only before. `cost_before` is what the former plan says that it
    costs, `cost_fresh` what a plan from scratch would (None: none was found).
    `header` is None where there is no plan, with these moves or at all: nothing was
    written, and the plan's status and reason say why. What is infeasible is so with
    any number of moves; whether there is a way with fewer moves than were found to be
    enough is unknown, and that number is `moves_found` of the plan's figures.
    """

    plan: Plan
    header: PlanHeader | None
    moves: int
    added: int
    removed: int
    kept: int
    brokers_added: int
    brokers_removed: int
    cost_before: float | None
    cost_fresh: float | None


def replan_directory(
    engine: Engine,
    target: Target,
    options: Options,
    *,
    previous: Place,
    max_moves: int | None,
    force: bool = False,
    progress: Progress | None = None,
) -> Replanned:
    """Make a plan close to a `previous` one, audit it, and let it appear.

    At most `max_moves` pairs move to another broker, but capacities and thresholds
    come first: if there is no way found to keep them within so many moves, the
    status is unknown, and the reason says how many do. Without a limit the
    cheapest plan is taken, and of equally cheap ones that with the fewest changes.
    Passes over the pairs: those of `provision_directory`, and about four more.
    """
    progress = progress or Stopwatch()
    if max_moves is not None:
        max_moves = checked_count(max_moves, "max-moves")
    options = replace(options, stage=progress.stage)
    with options.stage("former"):
        plan, former, runs = open_former(
            previous, engine.workload, engine.header, target.fleet
        )
    output = Output.begin(target.out, HEADER, force=force)
    try:
        with engine.scan(target.threshold, target.out) as scan:
            job = _Job(engine, scan, target, options, plan, runs, max_moves)
            fresh = Provisioning(scan, target.threshold, options).draft(target.fleet)
            made = job.make(output, fresh, former)
        if made.header is None:
            output.abort()
            return made
        made = _timed(made, made.header, progress)
        assert made.header is not None
        output.commit(made.header.as_json())
    except BaseException:
        output.abort()
        raise
    return made


def _timed(made: Replanned, header: PlanHeader, progress: Progress) -> Replanned:
    seconds = dict(progress.seconds)
    return replace(
        made,
        plan=replace(made.plan, seconds=seconds),
        header=replace(header, seconds=seconds),
    )


@dataclass(frozen=True, eq=False)
class _Selected:
    """A selection that was made already, where a scan would make it."""

    interests: Interests

    def selection(self, topics: object, rule: object) -> Interests:
        return self.interests


@dataclass(frozen=True, eq=False)
class _Job:
    engine: Engine
    scan: Any
    target: Target
    options: Options
    previous: PlanHeader
    runs: Former
    max_moves: int | None

    def make(self, output: Output, fresh: Draft, former: FormerPlan) -> Replanned:
        """Decide, write and audit; the plan does not appear yet."""
        if fresh.refusal is not None and fresh.refusal.proven:
            return self._refused(fresh, fresh.refusal)
        stage = self.options.stage
        rules = self._share(Rules(fresh.topics, fresh.choice.rule, former))
        source = self._source(rules)
        with stage("keep"):
            held, anew = self._tallies(source, len(fresh.topics.rates))
        with stage("repack"):
            proposal = self._propose(fresh, held, anew)
        if proposal is None:
            # What was packed anew is a proposal, so that was not found either.
            assert fresh.refusal is not None
            return self._stayed(output, source, fresh, held, fresh.refusal)
        draft = self._draft(fresh, proposal.packing, proposal.brokers_from)
        with stage("place"):
            scan, draft = self._chosen(source, draft, proposal)
            plan, header = self.engine.write(scan, draft, output)
        with stage("moves"):
            found = self._changes(rules, output.root, plan, header)
        if self.max_moves is not None and found.moves > self.max_moves:
            too_many = self._too_many(found.moves)
            return self._stayed(output, source, fresh, held, too_many)
        with stage("audit"):
            self._audit(header, output)
        return self._replanned(fresh, plan, header, found)

    def _propose(self, fresh: Draft, held: Tally, anew: Tally) -> Proposal | None:
        """What to do; the calmest way if none is sure to keep within the limit."""

        def packed() -> Packing | None:
            demand = Demand(fresh.topics.rates, held.counts, lambda: iter(()))
            return pack("tight", demand, fresh.fleet, fresh.prices, self.options.stop)

        same = np.array_equal(held.counts, anew.counts)
        if same and np.array_equal(held.kept, anew.kept):
            selections = [ServedSelection(held, lambda: fresh.packing, True)]
        else:
            selections = [
                ServedSelection(held, packed, True),
                ServedSelection(anew, lambda: fresh.packing, False),
            ]
        best, calmest = replan(
            self.runs,
            selections,
            fresh.topics.rates,
            fresh.fleet,
            fresh.prices,
            self.max_moves,
        )
        return best or calmest

    def _stayed(
        self,
        output: Output,
        source: Keeping,
        fresh: Draft,
        held: Tally,
        refusal: Refusal,
    ) -> Replanned:
        """What moves nothing, in the place of what was written; the refusal if there
        is no room for what is new."""
        rates, stage = fresh.topics.rates, self.options.stage
        found = stay(self.runs, held, rates, fresh.fleet, fresh.prices)
        if found is None:
            return self._refused(fresh, refusal)
        with stage("place"):
            plan, header = self._write_stayed(output, source, fresh, held, found)
        with stage("moves"):
            seen = self._changes(source.rules, output.root, plan, header)
        with stage("audit"):
            self._audit(header, output)
        return self._replanned(fresh, plan, header, seen)

    def _write_stayed(
        self,
        output: Output,
        source: Keeping,
        fresh: Draft,
        held: Tally,
        found: Standstill,
    ) -> tuple[Plan, PlanHeader]:
        rates = fresh.topics.rates
        draft = self._draft(fresh, found.packing, found.brokers_from.tolist())
        draft = replace(draft, choice=Choice(Rule("greedy"), held.counts))
        if isinstance(self.scan, MemoryScan):
            homes = Homes.of(found.added, len(rates))
            cursor = Cursor.after(homes, np.zeros(len(homes.cut), np.int64))
            blocks = list(stayed(source, self._parts, found.number, homes, cursor))
            brokers = np.concatenate([block.brokers for block in blocks])
            runs = replace(found.packing.placement, pair_broker=brokers)
            draft = replace(draft, packing=replace(found.packing, placement=runs))
            selected = _Selected(served(source, self._parts))
            return self.engine.write(selected, draft, output)
        parts = write_stayed(self.scan, source, found, output)
        plan, workload = draft.plan(None), self.engine.workload
        digest = self.engine.header.digest
        return plan, finish_plan_header(output, plan, parts, workload, digest)

    def _draft(
        self, fresh: Draft, packing: Packing, brokers_from: Sequence[int]
    ) -> Draft:
        asked = {
            "from": self.previous.digest,
            "brokers_from": list(brokers_from),
            "max_moves": self.max_moves,
        }
        return replace(
            fresh,
            packing=packing,
            paper=paper_bound(fresh.survey),
            algorithm=f"{fresh.options['selection']}+replan",
            options={**fresh.options, **asked},
            refusal=None,
        )

    def _chosen(
        self, source: Keeping, draft: Draft, proposal: Proposal
    ) -> tuple[Any, Draft]:
        """What to write the lists from: a scan of what is held, unless the choice is
        a new one."""
        if not proposal.served.held:
            return self.scan, draft
        rule, counts = Rule("greedy"), proposal.served.tally.counts
        draft = replace(draft, choice=Choice(rule, counts))
        if isinstance(self.scan, MemoryScan):
            return _Selected(served(source, self._parts)), draft
        narrow = copy(self.scan)
        narrow.source = source
        if not np.array_equal(narrow.count(draft.topics, rule), counts):
            raise RuntimeError("two passes over the same pairs differ: a defect")
        return narrow, draft

    def _replanned(
        self,
        fresh: Draft,
        plan: Plan,
        header: PlanHeader,
        found: Changes,
    ) -> Replanned:
        removed = self.runs.pairs - found.kept - found.moves
        left = sum(1 for b in plan.options["brokers_from"] if b >= 0)
        figures = {
            "moves": found.moves,
            "added": found.added,
            "removed": removed,
            "kept": found.kept,
        }
        return Replanned(
            plan=replace(plan, figures={**plan.figures, **figures}),
            header=replace(header, figures={**header.figures, **figures}),
            **figures,
            brokers_added=len(plan.brokers) - left,
            brokers_removed=len(self.runs.broker_type) - left,
            cost_before=self.previous.objective,
            cost_fresh=_cost(fresh),
        )

    def _refused(self, fresh: Draft, refusal: Refusal) -> Replanned:
        draft = replace(fresh, packing=None, refusal=refusal)
        cost = _cost(fresh)
        nothing = {"moves": 0, "added": 0, "removed": 0, "kept": 0}
        return Replanned(
            draft.plan(None),
            None,
            **nothing,
            brokers_added=0,
            brokers_removed=0,
            cost_before=self.previous.objective,
            cost_fresh=cost,
        )

    def _too_many(self, moves: int) -> Refusal:
        most = f"{self.max_moves:,} move{'' if self.max_moves == 1 else 's'}"
        return Refusal(
            f"no way was found to keep within capacities with at most {most}, which "
            f"does not prove that there is none: the calmest one found takes {moves:,}"
            f"\nIt works with --max-moves {moves}.",
            proven=False,
            figures={"moves_found": moves},
        )

    def _tallies(self, source: Keeping, topics: int) -> tuple[Tally, Tally]:
        runs = self._share(Runs(self.runs.starts(topics), self.runs.broker))
        if isinstance(self.scan, MemoryScan):
            both = tallied(source, runs, self._parts)
        else:
            both = tallied_in_tasks(self.scan, source, runs, topics)
        for tally in both:
            tally.settle(runs.value.starts)
        return both

    def _changes(
        self, rules: Shared[Rules], root: Place, plan: Plan, header: PlanHeader
    ) -> Changes:
        workload = self.engine.workload.absolute()
        blocks = blocks_of(workload, self.engine.header, root, header)
        origins = np.array(plan.options["brokers_from"], np.int32)
        compare = partial(changes, rules, workload, root, origins)
        if isinstance(self.scan, MemoryScan):
            return compare(blocks)
        from brokerwise.pipeline.tasks import in_tasks

        some = [blocks[i : i + COMPARED] for i in range(0, len(blocks), COMPARED)]
        return sum(in_tasks(self.scan.context, compare, some), Changes())

    def _audit(self, header: PlanHeader, output: Output) -> None:
        engine = self.engine
        case = staged_case(output.root, header, engine.workload, engine.header)
        refuse_wrong(engine.audit(case))

    def _source(self, rules: Shared[Rules]) -> Keeping:
        place, header = self.engine.workload.absolute(), self.engine.header
        return Keeping(
            place,
            self.target.threshold,
            has_thresholds(place, self._parts),
            header.topics,
            rules,
        )

    def _share(self, value: Any) -> Any:
        if isinstance(self.scan, MemoryScan):
            return Own(value)
        return self.scan.share(value)

    @property
    def _parts(self) -> Sequence[str]:
        return self.engine.header.files["interests"]


def _cost(draft: Draft) -> float | None:
    return None if draft.packing is None else draft.plan(None).objective
