"""Where provisioning runs: in this process, or on Spark. Both give the same plan."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from brokerwise.auditing.files import Case
from brokerwise.auditing.findings import Audit
from brokerwise.auditing.memory import audit_case
from brokerwise.model.plan import Plan
from brokerwise.planners.provision.draft import Draft
from brokerwise.planners.provision.scan import MemoryScan
from brokerwise.storage.output import Output, scratch_beside
from brokerwise.storage.place import Place
from brokerwise.storage.plan import PlanHeader, finish_plan_header, stage_plan
from brokerwise.storage.workload import WorkloadHeader, read_header, read_workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from brokerwise.pipeline.provision.scan import SparkScan

IN_MEMORY = 2_000_000
"""Workloads of up to so many pairs are planned in this process: no JVM is started."""


class Engine(Protocol):
    """How the passes over a workload are made, pairs written and plans audited."""

    workload: Place
    header: WorkloadHeader

    def scan(self, threshold: int, out: Place) -> AbstractContextManager[Any]:
        """A scan of the workload; what it must write down goes beside `out`."""
        ...

    def write(self, scan: Any, draft: Draft, output: Output) -> tuple[Plan, PlanHeader]:
        """Write all but the header of a plan."""
        ...

    def audit(self, case: Case) -> Audit: ...


class MemoryEngine:
    """The whole workload in this process."""

    def __init__(self, workload: Place) -> None:
        self.workload, self.header = workload, read_header(workload)
        self._read = read_workload(workload)

    @contextmanager
    def scan(self, threshold: int, out: Place) -> Iterator[MemoryScan]:
        yield MemoryScan(self._read, threshold)

    def write(
        self, scan: MemoryScan, draft: Draft, output: Output
    ) -> tuple[Plan, PlanHeader]:
        plan = draft.plan(scan.selection(draft.topics, draft.choice.rule))
        return plan, stage_plan(output, plan, self.workload, self.header.digest)

    def audit(self, case: Case) -> Audit:
        return audit_case(case)


class SparkEngine:
    """Passes as Spark tasks: no pair is shuffled, the driver holds numbers by topic."""

    def __init__(self, spark: "SparkSession", workload: Place) -> None:
        self.workload, self.header = workload, read_header(workload)
        self._spark = spark

    @contextmanager
    def scan(self, threshold: int, out: Place) -> Iterator["SparkScan"]:
        from brokerwise.pipeline.provision.scan import SparkScan

        with (
            scratch_beside(out) as scratch,
            SparkScan(
                self._spark, self.workload, self.header, threshold, scratch
            ) as scan,
        ):
            yield scan

    def write(
        self, scan: "SparkScan", draft: Draft, output: Output
    ) -> tuple[Plan, PlanHeader]:
        from brokerwise.pipeline.provision.scan import write_placement

        parts = write_placement(scan, draft, output)
        plan = draft.plan(None)
        digest = self.header.digest
        return plan, finish_plan_header(output, plan, parts, self.workload, digest)

    def audit(self, case: Case) -> Audit:
        from brokerwise.auditing.spark import audit_case

        return audit_case(self._spark, case)
