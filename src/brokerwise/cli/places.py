"""Where a command may write."""

from pathlib import Path

from brokerwise.model.errors import InputError


def refuse_wrong_places(
    given: str, out: str, report: Path | None, *, what: str = "workload"
) -> None:
    """Refuse a plan or a report within what is planned for, which must stay as it
    is, a report that cannot be written, and one where the plan goes."""
    refuse_within("--out", out, given, what)
    if report is None:
        return
    from brokerwise.show.page import refuse_unwritable

    refuse_unwritable(report)
    refuse_within("--report", str(report), given, what)
    if report.resolve() == _on_disk(out):
        raise InputError(
            f"--report {report}: the plan goes there", hint="Name another file."
        )


def refuse_within(option: str, path: str, given: str, what: str) -> None:
    """Refuse a path within a directory that is only read."""
    inner, outer = _on_disk(path), _on_disk(given)
    if inner and outer and inner.is_relative_to(outer):
        raise InputError(
            f"{option} {path} is in the {what}, which must stay as it is",
            hint="Name another place.",
        )


def _on_disk(path: str) -> Path | None:
    from brokerwise.storage.place import Place

    local = Place(path).local
    return None if local is None else local.resolve()
