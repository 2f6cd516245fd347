"""The page and the reports have the same colours, in both looks."""

import re
from importlib.resources import files

VARIABLE = re.compile(r"(--[a-z0-9-]+): ([^;]+);")


def looks(package: str) -> list[dict[str, str]]:
    """The variables of each block that sets some: light first."""
    text = files(package).joinpath("style.css").read_text(encoding="utf-8")
    blocks = re.findall(r"\{([^{}]*)\}", text)
    return [found for block in blocks if (found := dict(VARIABLE.findall(block)))]


def test_the_colours_are_those_of_the_reports() -> None:
    light, dark = looks("brokerwise.show")
    ours_light, ours_dark = looks("brokerwise.page")
    assert ours_dark.keys() == ours_light.keys()
    assert light.items() <= ours_light.items()
    assert dark.items() <= ours_dark.items()
