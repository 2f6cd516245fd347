"""What commands of the planning half say and write, in a form that is the same on
every machine: values and texts, not only keys."""

import hashlib
import json
import os
import re
import shutil
import textwrap
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tests.golden.fleet import Said, command
from tests.show.reading import Reader

Json = Any

VERSION = version("brokerwise")
DIGITS = 9  # of a float: further ones differ from machine to machine
LONGEST = 8  # list that is shown whole, unless of objects
# Keys of what differs from run to run, and of objects all of whose values do.
UNSTEADY = {"seconds", "worst_seconds", "ms"}
_SECONDS = re.compile(r"\b\d[\d,]*(\.\d+)? s\b")


def normal(value: Json, unsteady: bool = False) -> Json:
    """Floats with nine digits; what differs from run to run without its value."""
    if isinstance(value, dict):
        if value and unsteady:
            return "<numbers>"  # stages that took no time may not be there at all
        return {name: normal(each, name in UNSTEADY) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return _listed([normal(each, unsteady) for each in value])
    if unsteady and isinstance(value, int | float) and not isinstance(value, bool):
        return "<number>"
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, str):
        return "<text>" if unsteady else plain(value)
    return value


def _listed(values: list[Json]) -> Json:
    """Long lists of numbers and names by what identifies them."""
    if len(values) <= LONGEST or any(isinstance(each, dict) for each in values):
        return values
    return {"length": len(values), "first": values[:3], "sha256": _digest(values)}


def _digest(values: Json) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def plain(text: str) -> str:
    """A text without where, by which version and in what time it was made."""
    if text == VERSION:
        return "VERSION"
    text = text.replace(os.getcwd(), "FOLDER")
    text = text.replace(f"brokerwise {VERSION}", "brokerwise VERSION")
    return _SECONDS.sub("N s", text)


def lines(text: str) -> list[str]:
    return [plain(line) for line in text.splitlines()]


def directory(path: str | Path) -> dict[str, Json]:
    """Every file in it: JSON whole, the schema and number of rows of tables."""
    found = sorted(each for each in Path(path).rglob("*") if each.is_file())
    return {str(each.relative_to(path)): _file(each) for each in found}


def _file(path: Path) -> Json:
    if path.name in {"result.json", "results.json"}:
        return "what --json prints"
    if path.suffix == ".json":
        return normal(json.loads(path.read_text(encoding="utf-8")))
    if path.suffix == ".parquet":
        table = pq.ParquetFile(path)
        columns = ", ".join(f"{each.name} {each.type}" for each in table.schema_arrow)
        return f"{table.metadata.num_rows} rows of {columns}"
    return "a file"


def page(path: str | Path) -> Json:
    """What a report shows, and what its plots are drawn from."""
    return shown(Path(path).read_text(encoding="utf-8"))


def shown(html: str) -> Json:
    read = Reader(html)
    words = [" ".join(each.split()) for each in read.shown]
    kept = read.data("result")
    return {
        "text": textwrap.wrap(" | ".join(plain(each) for each in words if each), 78),
        "plots": [_plot(each) for each in read.data("plots")],
        "result": {"kind": kept["kind"], "keys": sorted(kept)},
    }


def _plot(spec: Json) -> Json:
    """Its axes and series; of the values of a series, a digest."""
    series = [
        {"name": each["name"], "values": _digest(normal(each))}
        for each in spec.get("series", [])
    ]
    return {**normal({**spec, "series": None}), "series": series}


class Noted:
    """Commands and what became of them. They run in the working directory, which is
    the test's own, so words may name files."""

    def __init__(self) -> None:
        self.found: dict[str, Json] = {}

    def plan(self, words: str, *, note: str = "", report: bool = False) -> Json:
        """A command that writes a plan to `p`: run for its words, then for its JSON."""
        shutil.rmtree("p", ignore_errors=True)
        said = command(*words.split(), "--out", "p")
        shown = self._texts(said)
        more = ["--report", "r.html"] if report else []
        again = command(*words.split(), "--out", "p", "--force", "--json", *more)
        result = self._json(shown, said, again)
        if Path("p").is_dir():
            shown["files"] = directory("p")
            self._kept(Path("p"), result)
        if report and Path("r.html").exists():
            kept = Reader(Path("r.html").read_text(encoding="utf-8")).data("result")
            shown["report"] = page("r.html")["text"]
            shown["report holds"] = kept == result
            Path("r.html").unlink()
        self.note(words, note, shown)
        return result

    def __call__(self, words: str, *, note: str = "") -> Json:
        """Any other command: for its words, then for its JSON."""
        said = command(*words.split())
        shown = self._texts(said)
        result = self._json(shown, said, command(*words.split(), "--json"))
        self.note(words, note, shown)
        return result

    def text(self, words: str, *, note: str = "") -> Said:
        """Only for its words."""
        said = command(*words.split())
        self.note(words, note, self._texts(said))
        return said

    def json(self, words: str, *, note: str = "") -> Json:
        """Only for its JSON."""
        said = command(*words.split(), "--json")
        shown: dict[str, Json] = {"exit code": said.code}
        if not said.out:
            shown["err"] = lines(said.err)
        result = self._json(shown, said, said)
        self.note(f"{words} --json", note, shown)
        return result

    def brief(self, words: str, *keys: str) -> None:
        """Of a plan, only these keys of its JSON."""
        said = command(*words.split(), "--out", "p", "--force", "--json")
        found = normal(said.json)
        self.note(words, "in brief", {key: found[key] for key in keys})

    def note(self, words: str, note: str, shown: Json) -> None:
        name = f"{words} ({note})" if note else words
        assert name not in self.found, f"{name} is noted already"
        self.found[name] = shown

    @staticmethod
    def _texts(said: Said) -> dict[str, Json]:
        texts = {"out": lines(said.out), "err": lines(said.err)}
        return {"exit code": said.code, **texts}

    @staticmethod
    def _json(shown: dict[str, Json], plainly: Said, said: Said) -> Json:
        assert said.code == plainly.code, said.err
        if not said.out:
            return None
        shown["json"] = normal(said.json)
        return said.json

    @staticmethod
    def _kept(path: Path, result: Json) -> None:
        """The directory has what was printed, for reports."""
        assert json.loads((path / "result.json").read_text()) == result
