"""README and tour, pasted block by block into one shell, as a new user does."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, Block, blocks

PAGES = ("README.md", "docs/tour.md")
SECONDS = 1800  # for both pages, on a machine that has other things to do
_PROMPT = "$ "
# What is done by whoever runs the tests.
_SETUP = ("make ", "source .venv/")


def pasted(page: str) -> Iterator[Block]:
    """The blocks that a reader pastes: of a session, what is behind its prompts."""
    for block in blocks(page):
        if block.language == "python":
            yield block
            continue
        typed = [
            line.removeprefix(_PROMPT)
            for line in block.lines
            if line.startswith(_PROMPT)
        ]
        lines = typed if typed else block.lines if block.language == "sh" else ()
        kept = tuple(line for line in lines if not line.startswith(_SETUP))
        if kept:
            yield Block(block.line, "sh", kept, block.before)


def script(page: str, folder: Path) -> str:
    """What the shell is given: it says which commands fail, and goes on, as a terminal
    would. Python is pasted at Python's own prompt."""
    parts = []
    for block in pasted(page):
        text = "\n".join((*block.lines, ""))
        at = f"{page}:{block.line}"
        if block.language == "python":
            file = folder / f"{Path(page).stem}-{block.line}.py"
            file.write_text(f"{text}\n", encoding="utf-8")
            text = f"at_prompt {file}\n"
        parts.append(f"at={at}\n{text}")
    return "".join(parts)


_BEGIN = """
set -o pipefail
trap 'echo "FAILED at $at: $BASH_COMMAND"' ERR
at_prompt() { python -iq < "$1" 2>&1 | tee "$1.txt"; ! grep -q Error "$1.txt"; }
"""


@pytest.mark.long
@pytest.mark.parametrize("pages", [PAGES, PAGES[::-1]], ids=["README", "tour"])
def test_pages_can_be_pasted_into_a_shell_one_after_the_other(
    pages: tuple[str, ...], tmp_path: Path
) -> None:
    """The second page finds what the first has left, as it does after `make demo`."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    beside = Path(sys.executable).parent
    text = _BEGIN + "".join(script(page, tmp_path) for page in pages)
    end = "if [ -e out/fleet/fleet.json ]; then echo LEFT; brokerwise down; fi\n"
    done = subprocess.run(
        ["bash", "-s"],
        input=f"{text}\nat=end\n{end}",
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("FAILED")] == [], done.stdout
    assert "LEFT" not in lines, "a page leaves its fleet running"
