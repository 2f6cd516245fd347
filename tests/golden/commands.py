"""Commands of the live half, one after the other on a fleet that nobody else uses."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.crowd import crowd
from tests.golden.fleet import Fleet, Said, ask, command
from tests.golden.forms import merged_shape, nullable, shape
from tests.golden.http_calls import overlay_calls
from tests.processes import BROKERWISE, Process, wait_until

SECONDS = 60.0
# Lists whose length is a matter of what was measured: brokers that a proposal adds or
# closes, configurations that were cut short or were sent to late.
MEASURED = {
    "added": "text",
    "censored": "integer",
    "closing": "text",
    "late": "integer",
}


class Commands:
    """What each said: its exit code, the keys and types of what --json prints, and
    the words of an error."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self.noted: dict[str, Any] = {}

    def __call__(self, words: str, *more: str, note: str = "") -> Said:
        """A command with --json; `more` words are paths and the like, and not noted."""
        said = command(*words.split(), *more, "--json", "--state", str(self._state))
        self.note(f"{words} --json", note, said)
        return said

    def plain(self, words: str, *, note: str = "") -> Said:
        said = command(*words.split(), "--state", str(self._state))
        self.note(words, note, said)
        return said

    def note(self, words: str, note: str, said: Said) -> None:
        name = f"{words} ({note})" if note else words
        assert name not in self.noted, f"{name} is noted already"
        shown: dict[str, Any] = {"exit code": said.code}
        if "--json" in words and said.out:
            lines = [json.loads(line) for line in said.out.splitlines()]
            shown["json"] = _filled(nullable(merged_shape(lines)))
        if said.code:
            shown["error"] = self._steady(said.err)
        self.noted[name] = shown

    def _steady(self, text: str) -> str:
        """Without what went on before it."""
        text = text[max(text.find("error: "), 0) :].replace(str(self._state), "STATE")
        text = text.replace(str(self._state.parent), "FOLDER")
        return re.sub(r"(process|decision) \d+", r"\1 N", text).rstrip("\n")


def _filled(found: Any) -> Any:
    """With lists that may be empty as if they were not."""
    if isinstance(found, list):
        return [_filled(each) for each in found]
    if not isinstance(found, dict):
        return found
    return {
        name: [MEASURED[name]] if name in MEASURED else _filled(each)
        for name, each in found.items()
    }


def live_commands(fleet: Fleet, folder: Path) -> dict[str, Any]:
    say = Commands(fleet.state)
    say.note("up --detach --data-cluster --json", "", fleet.up)
    say("up --detach", note="it runs already")
    say("status")
    _messages(say)
    say("status --topics")
    _datasets(say, folder)
    _channels(say, folder)
    say.plain("replay", note="no plan")
    with _one_sided(say, fleet):
        _moves(say)
    say("status", note="with moves")
    _restart(say)
    _join(say, fleet.state)
    _bad_usage(say)
    return say.noted


def _messages(say: Commands) -> None:
    say("token ann")
    say("token ann --at 1,2", note="somewhere")
    say("token ann --at here", note="nowhere")
    say.plain("publish news hello --as bob")
    say.plain("publish gps/* hello --as bob", note="a pattern")
    say("subscribe near place=here --as cid --count 2")
    say("subscribe near size=1", note="no such parameter")
    say("subscribe", note="to nothing")
    say("subscribe news --latest", note="no channel")


def _datasets(say: Commands, folder: Path) -> None:
    make = "dataset create made --kind keyed --key user --column user:string"
    say(make)
    say(make, note="again")
    say("dataset create made --kind heap", note="no kind")
    say("dataset create other --kind append --column x:int", note="no type")
    say("dataset list")
    records = folder / "records.ndjson"
    records.write_text('{"user": "ann"}\n{"user": 1}\n')
    say("feed made", str(records))
    say("feed made --again", str(records))
    say("feed none", str(records), note="no dataset")
    say("feed made", str(folder / "none"), note="no file")
    say("feed made --rate x", str(records), note="no rate")
    say("dataset show made")
    say("dataset show none")
    say("dataset drop fires", note="a channel reads it")
    say("dataset drop made")
    say("dataset drop made", note="again")


def _channels(say: Commands, folder: Path) -> None:
    query = folder / "query.sql"
    query.write_text("SELECT place FROM fires")
    say("channel list")
    say("channel show near")
    say("channel show none")
    again = "channel create near --period 10s"
    say(again, "--sql", str(query), note="there already")
    say("channel create often --period x", "--sql", str(query), note="no period")
    say("channel create none --period 10s", "--sql", str(folder / "no"), note="no file")
    say("channel drop near")
    say("channel drop near", note="again")


@contextmanager
def _one_sided(say: Commands, fleet: Fleet) -> Iterator[None]:
    """Four sessions on b0 to which messages are sent, and none on b1."""
    say("drain b1")
    with crowd(fleet.state, 4):
        say("drain b1 --undo")

        def is_measured() -> bool:
            url = f"{fleet.coordinator}/balance"
            found = ask(url, fleet.tokens["operator"]).json
            return bool((found["max_load"] or 0) > 0)

        wait_until(is_measured, SECONDS)
        yield


def _moves(say: Commands) -> None:
    small = f"{round(0.4 * say('moves').json['max_load'])}B/s"
    first = say("moves --dry-run --policy ldm --max-moves 1").json["digest"]
    say("moves --dry-run --broker-hour 0.5 --capacity", small)
    second = say("moves --dry-run").json["digest"]
    say("moves --approve", second)
    say("moves --approve", second, note="again")
    say("moves --approve", first, note="out of date")
    say("moves --approve abcdef", note="unknown")
    say("moves --approve xyz", note="no digest")
    say("moves --list 10")
    say("moves --automatic --every 100s --hot-only 20%")
    say("moves --manual")
    say("moves --pause")
    say("moves --resume")
    say("moves --pause --resume", note="both")
    say("moves --dry-run --policy best", note="no policy")
    say("moves --alpha 0.5", note="without a plan")


def _restart(say: Commands) -> None:
    say("restart b1")
    say("restart b9", note="unknown")
    say("drain b9", note="unknown")
    say("drain b1 --stop --undo", note="both")


def _join(say: Commands, state: Path) -> None:
    """A broker that joins, is told to leave, and then one that is stopped."""
    words = ["join", "--json", "--name", "extra", "--state", str(state)]
    with Process([*BROKERWISE, *words]) as joined:
        ready = joined.line_with('"ready"', SECONDS)
        say("join --name b0", note="there already")
        joined.interrupt()
        code = joined.wait(SECONDS)
    say.noted["join --name extra --json (until Ctrl-C)"] = {
        "exit code": code,
        "json": shape(json.loads(ready)),
    }
    say("drain b1 --stop")


def _bad_usage(say: Commands) -> None:
    say("up --brokers 0", note="none")
    say("up --brokers x", note="no number")
    say("up --place 1,2", note="not nearest")
    say("up --placement best", note="no placement")
    say("up --into a=b", note="without a data cluster")
    say("up --plan none --brokers 2", note="a plan and brokers")
    say("up --step a=b", note="no step")
    say("status --nothing", note="no option")
    say("nothing", note="no command")
    say.plain("publish", note="no topic")
    say.plain("replay --speed 0", note="no speed")
    out = "latency measure --out data --k 0"
    say.note(f"{out} --json", "no topics", command(*out.split(), "--json"))


def last_commands(fleet: Fleet) -> dict[str, Any]:
    say = Commands(fleet.state)
    say("down")
    say("down", note="again")
    for words in ("status", "restart", "moves", "token ann", "replay", "join"):
        say(words, note="no fleet")
    return say.noted


def planned_commands(state: Path, plan: Path) -> dict[str, Any]:
    """Of a fleet that runs a plan for users."""
    say = Commands(state)
    try:
        say("up --detach --plan", str(plan))
        say("status")
        say("replay")
        say("status --topics")
        say("up --plan", str(plan), "--data-cluster", note="a data cluster too")
        say("drain b1")
        say("replay", note="a broker is not up")
    finally:
        say("down")
    return say.noted


def overlay_commands(state: Path, plan: Path) -> dict[str, Any]:
    """Of a fleet that runs an overlay plan, with what its services answer then."""
    say = Commands(state)
    try:
        up = say("up --detach --plan", str(plan))
        say("replay")
        say("status --topics")
        call = overlay_calls(Fleet(state, up))
    finally:
        say("down")
    return {**say.noted, **call}
