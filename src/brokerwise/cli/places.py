"""Where a command may write."""

from pathlib import Path

from brokerwise.model.errors import InputError


def refuse_wrong_places(
    given: str, out: str, report: Path | None, *, what: str = "workload"
) -> None:
    """Refuse a plan or a report within what is planned for, which must stay as it
    is, a report that cannot be written, and one where the plan goes."""
    _refuse_within("--out", out, given, what)
    if report is None:
        return
    from brokerwise.report.page import refuse_unwritable

    refuse_unwritable(report)
    _refuse_within("--report", str(report), given, what)
    if "://" not in out and report.resolve() == Path(out).resolve():
        raise InputError(
            f"--report {report}: the plan goes there", hint="Name another file."
        )


def _refuse_within(option: str, path: str, given: str, what: str) -> None:
    if "://" in path or "://" in given:
        return
    if Path(path).resolve().is_relative_to(Path(given).resolve()):
        raise InputError(
            f"{option} {path} is in the {what}, which must stay as it is",
            hint="Name another place.",
        )
