"""A page's shell sessions, typed again, and what they print held against the page."""

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.docs.commands import Command, commands, words
from tests.docs.pages import ROOT, files
from tests.processes import Process

from brokerwise.cli.main import run

_ANYTHING = "..."
_HOME = "/home/me/brokerwise"
_PATIENCE_SECONDS = 240  # the first dry run compiles, on a machine that may be busy
_CONNECTED = "connected to"
_NO = ("infeasible: ", "no: ", "unknown: ")  # answers with exit code 1
# What another run, or another machine, has otherwise.
_TIMES = re.compile(r"\d[\d,.]*(?= (?:s|ms)\b)")
_ADDRESSES = re.compile(r"(?<=127\.0\.0\.1:)\d+(?:/#token=\S+)?")
_NUMBERS = re.compile(r"(?<!\w)\d[\d,.]*(?: [kMG]?B\b)?")
_DIGESTS = re.compile(r"\b[0-9a-f]{12}\b")
# What is behind a $ and not typed again, and why.
LEFT_OUT = {
    "make setup": "done by whoever runs the tests",
    "source .venv/bin/activate": "done by whoever runs the tests",
}
# Of these every number is what a fleet measured just now.
_MEASURED = ("brokerwise moves", "brokerwise status")


class Player:
    """Types what a page has behind a $, in a folder with the files that it shows.

    What is simple is run in this process, where Spark may be up already; the rest by
    a shell. On leaving everything ends that was begun.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._begun: list[Process] = []
        self._digests: dict[str, str] = {}

    def __enter__(self) -> Self:
        (self._folder / "examples").symlink_to(ROOT / "examples")
        self._stack.callback(self._end_fleet)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def play(self, page: str) -> Iterator[tuple[Command, list[str]]]:
        """What each command of a page prints, in the order of the page."""
        for name, content in files(page).items():
            (self._folder / name).write_text(content, encoding="utf-8")
        for command in commands(page):
            if command.is_typed and command.text not in LEFT_OUT:
                yield command, self._type(command)

    def _type(self, command: Command) -> list[str]:
        text = _DIGESTS.sub(
            lambda found: self._digests.get(found[0], found[0]), command.text
        )
        if text.endswith("&"):
            self._begin(text.removesuffix("&"))
            return []
        if text == "wait":
            assert [user.wait(_PATIENCE_SECONDS) for user in self._begun] == [
                0 for _ in self._begun
            ]
            return []
        if not command.is_simple:
            return self._by_shell(text)
        _, *rest = words(text)
        with redirect_stdout(io.StringIO()) as printed:
            code = run(rest)
        lines = printed.getvalue().splitlines()
        assert code == "".join(lines[:1]).startswith(_NO), (str(command), code, lines)
        return self._at_home(lines)

    def _at_home(self, lines: list[str]) -> list[str]:
        """With the folder of somebody who reads the page."""
        return [line.replace(str(self._folder), _HOME) for line in lines]

    def is_shown(self, command: Command, printed: list[str]) -> bool:
        """Whether a page that shows what a command prints shows this."""
        if not command.shown:
            return True
        measured = command.text.startswith(_MEASURED)
        if measured:
            self._digests |= digests(command.shown, printed)
        return fits(masked(command.shown, measured), masked(printed, measured))

    def _begin(self, text: str) -> None:
        """Run a user of the fleet until the end."""
        process = Process(["bash", "-c", f"exec {text}"], self._environment())
        self._stack.enter_context(process).line_with(_CONNECTED, _PATIENCE_SECONDS)
        self._begun.append(process)

    def _by_shell(self, text: str) -> list[str]:
        done = subprocess.run(
            ["bash", "-c", f"set -eo pipefail; {text}"],
            env={**os.environ, **self._environment()},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=_PATIENCE_SECONDS,
        )
        return self._at_home(done.stdout.splitlines())

    def _environment(self) -> dict[str, str]:
        """`brokerwise` is the one beside the interpreter."""
        beside = Path(sys.executable).parent
        return {"PATH": f"{beside}{os.pathsep}{os.environ['PATH']}"}

    def _end_fleet(self) -> None:
        if Path("out/fleet/fleet.json").exists():
            assert run(["down"]) == 0


def digests(shown: Sequence[str], printed: Sequence[str]) -> dict[str, str]:
    """What each digest that a page shows is now."""
    both = (_DIGESTS.findall("\n".join(lines)) for lines in (shown, printed))
    return dict(zip(*both, strict=False))


def fits(shown: list[str], printed: list[str]) -> bool:
    """Whether lines are the same, where a line of dots is for any others."""
    parts = [
        "(?:.*\n)*" if line.strip() == _ANYTHING else f"{re.escape(line)}\n"
        for line in shown
    ]
    text = "".join(f"{line}\n" for line in printed)
    return re.fullmatch("".join(parts), text) is not None


def masked(lines: Sequence[str], measured: bool) -> list[str]:
    """Without what differs from run to run; tables may be wider then."""
    if not measured:
        return [_ADDRESSES.sub("PORT", _TIMES.sub("TIME", line)) for line in lines]
    plain = (_NUMBERS.sub("N", _DIGESTS.sub("DIGEST", line)) for line in lines)
    return [" ".join(line.split()) for line in plain]
