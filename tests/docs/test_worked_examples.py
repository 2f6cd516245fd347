"""What pages show behind a $ is what is printed."""

from pathlib import Path

import pytest
from tests.docs.commands import commands
from tests.docs.pages import PAGES
from tests.docs.playing import LEFT_OUT, Player, fits, masked

ON_SPARK = (
    "docs/tour.md",
    "docs/provision.md",
    "docs/fill.md",
    "docs/networks.md",
)
IN_PROCESS = ("docs/overlay.md", "docs/colocate.md", "docs/balance.md")

# Pages that are not typed again, and why; single commands are in LEFT_OUT.
PAGES_LEFT_OUT = {
    "docs/data.md": "typed by tests/cli/test_data_cluster.py, on a data cluster",
    "docs/operating.md": "of fleets that others use; the tour has the same commands",
    "docs/taxi.md": "the trip records are not ours to ship, and take minutes",
}


def test_every_page_with_a_session_is_played_or_left_out_for_a_reason() -> None:
    with_sessions = {
        page for page in PAGES if any(command.is_typed for command in commands(page))
    }
    assert with_sessions == {*ON_SPARK, *IN_PROCESS, *PAGES_LEFT_OUT}
    typed = {command.text for page in PAGES for command in commands(page)}
    assert set(LEFT_OUT) <= typed


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("page", ON_SPARK)
def test_a_page_on_spark_shows_what_is_printed(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check(page, tmp_path)


@pytest.mark.parametrize("page", IN_PROCESS)
def test_a_page_shows_what_is_printed(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check(page, tmp_path)


def check(page: str, folder: Path) -> None:
    with Player(folder) as player:
        for command, printed in player.play(page):
            said = "\n".join([f"{command} prints", *printed])
            assert player.is_shown(command, printed), (
                f"{said}\nBring the page up to date: python -m tests.docs.retype {page}"
            )


def test_lines_are_left_out_by_dots_only() -> None:
    assert fits(["a", "...", "d"], ["a", "b", "c", "d"])
    assert fits(["a", "..."], ["a"])
    assert not fits(["a", "d"], ["a", "b", "d"])
    assert not fits(["a", "...", "d"], ["a", "b"])


def test_only_what_a_run_measures_may_differ() -> None:
    shown, printed = ["9 brokers, 2.0 s, p90 1.2 ms"], ["9 brokers, 31.5 s, p90 40 ms"]
    assert masked(shown, False) == masked(printed, False)
    assert masked(shown, False) != masked(["8 brokers, 2.0 s, p90 1.2 ms"], False)
    assert masked(["b0  9.1 kB/s  -2"], True) == masked(["b0   12 kB/s   -2"], True)
    assert masked(["b0  9.1 kB/s  -2"], True) != masked(["b0   12 kB/s   +2"], True)
