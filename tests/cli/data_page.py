"""docs/data.md, as tests read it."""

import re
import shlex
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The one block of code in a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.M | re.S)
    return str(found)


def commands() -> list[list[str]]:
    """What the page types, without the program's name; of a pipe the last part."""
    lines = re.findall(r"^    \$ (?:.*\| )?brokerwise (.*)$", TEXT, re.M)
    return [shlex.split(line) for line in lines]


def command(*begin: str) -> list[str]:
    """The one that begins with these words."""
    (found,) = [c for c in commands() if c[: len(begin)] == list(begin)]
    return found


def usages() -> list[str]:
    """Ways to call a command that the page's table shows."""
    table = TEXT.split("## Commands")[1].split("## ")[0]
    cells = re.findall(r"^\| (`.*?) \| ", table, re.M)
    return [usage for cell in cells for usage in re.findall("`([^`]+)`", cell)]
