"""What the program says when it is called wrongly, or not sure what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

from brokerwise.cli import main as program
from brokerwise.cli.main import run
from brokerwise.model.errors import BrokerwiseError, InputError

COMMANDS = ["ingest", "profile", "audit", "generate"]


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in COMMANDS)
    assert "..." not in shown.partition("Commands:")[2]  # nothing is cut short


@pytest.mark.parametrize("command", ["ingest", "profile", "audit"])
def test_each_command_shows_an_example(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert run([command, "--help"]) == 0
    assert f"brokerwise {command}" in capsys.readouterr().out.split("Example:")[1]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("brokerwise 0.")


@pytest.mark.parametrize(
    ("arguments", "text", "hint"),
    [
        (["nope"], "No such command 'nope'", "brokerwise --help"),
        (["audit", "--what"], "No such option", "brokerwise audit --help"),
        (["ingest"], "Missing option", "brokerwise ingest --help"),
        (
            ["simulate", "balance", "--seed", "x"],
            "Invalid value for '--seed'",
            "brokerwise simulate balance --help",
        ),
        (["simulate", "nope"], "No such command 'nope'", "brokerwise simulate --help"),
    ],
)
def test_a_wrong_call_is_explained_with_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], text: str, hint: str
) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ")
    assert text in shown
    assert shown.endswith(f"Try: {hint}\n")


def test_no_arguments_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert capsys.readouterr().err.startswith("Usage:")


@pytest.mark.parametrize(
    ("error", "code", "shown"),
    [
        (
            BrokerwiseError("lost", details=["one"], hint="Try."),
            3,
            "error: lost\n  one\nTry.\n",
        ),
        (KeyboardInterrupt(), 130, "interrupted; nothing was written\n"),
        (ZeroDivisionError("by zero"), 3, "error: ZeroDivisionError: by zero\n"),
    ],
)
def test_failures_have_their_exit_codes_and_no_traceback(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    shown: str,
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(program, "app", fail)
    assert run(["ingest"]) == code
    printed = capsys.readouterr().err
    assert printed.startswith(shown)
    assert "Traceback" not in printed


def test_what_goes_wrong_after_an_interruption_is_put_down_to_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that is interrupted may fail in a way of its own."""

    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("no compiled object yet")

    monkeypatch.setattr(program, "app", fail)
    assert run(["ingest"], lambda: True) == 130
    assert capsys.readouterr().err == "interrupted; nothing was written\n"


def test_a_message_about_a_field_names_the_option_that_was_typed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise InputError("max_moves: found -1")

    monkeypatch.setattr(program, "app", fail)
    for typed in (["--max-moves", "-1"], ["--max-moves=-1"]):
        assert run(["simulate", "balance", *typed]) == 2
        assert capsys.readouterr().err == "error: --max-moves: found -1\n"
    assert run(["simulate", "balance", "max_moves"]) == 2
    assert capsys.readouterr().err == "error: max_moves: found -1\n"


def test_the_error_of_a_task_is_told_by_its_last_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError(
            "An exception was thrown from the Python worker:\n"
            "Traceback (most recent call last):\n  File ...\n"
            "OSError: [Errno 28] No space left on device: '/small/x'\n"
        )

    monkeypatch.setattr(program, "app", fail)
    assert run(["ingest"]) == 3
    assert capsys.readouterr().err.startswith(
        "error: OSError: [Errno 28] No space left on device: '/small/x'\n"
    )


def test_what_moves_a_terminal_is_escaped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise BrokerwiseError("row \x1b[31m\x07 é")

    monkeypatch.setattr(program, "app", fail)
    run(["ingest"])
    assert capsys.readouterr().err == "error: row \\x1b[31m\\x07 é\n"


def test_a_reader_that_has_gone_is_a_failure_without_a_word() -> None:
    command = f"{sys.executable} -m brokerwise.cli.main --help"
    done = subprocess.run(
        ["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (3, "")


def test_a_master_that_is_none_is_refused_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = (
        "from brokerwise.pipeline.session import start_session\n"
        "start_session('nowhere')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "--master: found 'nowhere', expected local[N]" in done.stderr


def test_debug_shows_where(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise BrokerwiseError("lost")

    monkeypatch.setattr(program, "app", fail)
    assert run(["--debug", "ingest"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_help_starts_without_the_heavy_libraries() -> None:
    code = (
        "import sys; from brokerwise.cli.main import run; run(['--help']); "
        "print(sorted({'pyspark', 'numba', 'plotly'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
