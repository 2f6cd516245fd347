"""Where a command may write."""

from pathlib import Path

from brokerwise.model.errors import InputError


def refuse_wrong_places(workload: str, out: str, report: Path | None) -> None:
    """Refuse a plan or a report within the workload, which must stay as it is, a
    report that cannot be written, and one where the plan goes."""
    _refuse_in_workload("--out", out, workload)
    if report is None:
        return
    from brokerwise.report.page import refuse_unwritable

    refuse_unwritable(report)
    _refuse_in_workload("--report", str(report), workload)
    if "://" not in out and report.resolve() == Path(out).resolve():
        raise InputError(
            f"--report {report}: the plan goes there", hint="Name another file."
        )


def _refuse_in_workload(option: str, path: str, workload: str) -> None:
    if "://" in path or "://" in workload:
        return
    if Path(path).resolve().is_relative_to(Path(workload).resolve()):
        raise InputError(
            f"{option} {path} is in the workload, which must stay as it is",
            hint="Name another place.",
        )
