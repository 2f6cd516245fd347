"""docs/protocol.md, taken apart."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"


def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page(), re.M | re.S)


def frame_examples() -> list[str]:
    """Every frame that the page shows, one a line."""
    return [line for block in blocks("json") for line in block.splitlines()]


def body_examples() -> list[str]:
    """Every JSON body of an HTTP call that the page shows, one a line."""
    return re.findall(r"^    (\{.*\})$", page(), re.M)


def frame_section(tag: str) -> str:
    """What the page says under the heading of a frame."""
    found = re.findall(rf"^#### [^\n]*`{tag}`[^\n]*\n(.*?)(?=^##)", page(), re.M | re.S)
    assert len(found) == 1, f"{len(found)} headings for {tag}"
    return str(found[0])


def section(title: str) -> str:
    found = re.search(rf"^##+ {title}\n(.*?)(?=^##|\Z)", page(), re.M | re.S)
    assert found, f"no heading {title}"
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of its tables, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[0] and not set(row[0]) <= {"-"}]
