"""The documentation as a site."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT

# Addresses that a browser asks for by itself, not those that people may follow.
_ASKED = re.compile(
    r"""(?:\bsrc=|<link\b[^>]*\bhref=|url\(|@import\s+)["']?(?:https?:)?//"""
)


@pytest.mark.long
def test_the_site_is_complete_and_asks_for_nothing_elsewhere(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "sphinx", "--fail-on-warning", "-c", "docs"]
    subprocess.run(
        [*build, "-d", str(tmp_path / "doctrees"), ".", str(tmp_path / "site")],
        cwd=ROOT,
        check=True,
    )
    site = tmp_path / "site"
    for page in PAGES:
        assert (site / page).with_suffix(".html").exists()
    for path in (*site.rglob("*.html"), *site.rglob("*.css")):
        found = _ASKED.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{path}: {found}"
