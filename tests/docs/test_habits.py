"""Files about the project agree with each other."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


def _yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def _project() -> dict[str, Any]:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project: dict[str, Any] = content["project"]
    return project


def test_every_python_that_is_promised_is_tested() -> None:
    found = re.findall(r"Python :: (3\.\d+)", "\n".join(_project()["classifiers"]))
    job = _yaml(".github/workflows/test.yml")["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == found
    assert _project()["requires-python"] == f">={found[0]}"
    assert any(step.get("run") == "bash .ci/run" for step in job["steps"])


def test_what_is_cited_is_this_version_and_the_five_papers() -> None:
    citation = _yaml("CITATION.cff")
    assert citation["version"] == _project()["version"]
    papers = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").split()
    text = " ".join(papers)
    assert len(citation["references"]) == 5
    for reference in citation["references"]:
        assert reference["title"] in text
        for author in reference["authors"]:
            assert author["family-names"] in text


def test_hooks_run_what_make_runs() -> None:
    (repo,) = _yaml(".pre-commit-config.yaml")["repos"]
    entries = [hook["entry"].split()[0] for hook in repo["hooks"]]
    recipes = (ROOT / "Makefile").read_text().replace("$(BIN)", ".venv/bin")
    assert all(entry in recipes for entry in entries)
