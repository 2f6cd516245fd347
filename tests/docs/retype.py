"""Types a page's commands again and writes what they print into it.

    python -m tests.docs.retype docs/tour.md

For when what a command prints has changed on purpose; what is right stays as it is.
"""

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.commands import Command
from tests.docs.pages import ROOT
from tests.docs.playing import Player, digests

from brokerwise.pipeline.session import start_session

_TOKENS = re.compile(r"(#token=\S{24})[0-9a-f]{16,}")  # of fleets that are no more


def retype(page: str) -> None:
    wrong: list[tuple[Command, list[str]]] = []
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        with Player(Path(folder)) as player:
            for command, printed in player.play(page):
                if not player.is_shown(command, printed):
                    wrong.append((command, printed))
        os.chdir(ROOT)
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    for command, printed in reversed(wrong):  # the last first: numbers stay right
        prompt = lines[command.line - 1]
        indent = prompt[: prompt.index("$")]
        end = command.last + len(command.shown)
        lines[command.last : end] = [f"{indent}{line}".rstrip() for line in printed]
    text = "\n".join([*lines, ""])
    for command, printed in wrong:  # a digest may be typed further down
        for shown, real in digests(command.shown, printed).items():
            text = text.replace(shown, real)
    text = _TOKENS.sub(r"\1...", text)
    (ROOT / page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    session = start_session("local[2]")
    for named in sys.argv[1:]:
        retype(named)
    session.stop()
