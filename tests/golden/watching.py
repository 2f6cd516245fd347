"""The lines that whoever watches a fleet is sent, read beside everything else."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

from tests.golden.fleet import SECONDS, Fleet
from tests.golden.forms import merged_shape, nullable


class Watched:
    """`lines` until the coordinator ends, or the watching does."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def shapes(self) -> dict[str, Any]:
        """By kind. What is there by the name of a broker is under `*`."""
        kinds = sorted({line["kind"] for line in self.lines})
        return {
            kind: nullable(
                merged_shape([_nameless(x) for x in self.lines if x["kind"] == kind])
            )
            for kind in kinds
        }

    def events(self) -> set[str]:
        return {line["what"] for line in self.lines if line["kind"] == "event"}


def _nameless(line: dict[str, Any]) -> dict[str, Any]:
    """A broker that was not there has null for a load, and may have been anywhere.
    A rate is a number, also where it is a plain 0."""
    if line["kind"] == "tick":
        rates = {"messages_per_second", "deliveries_per_second"}
        return line | {name: float(line[name]) for name in rates & line.keys()}
    if line["kind"] != "hello":
        return line
    history = line["history"]
    loads = [load for each in history["loads"].values() for load in each]
    history = {**history, "loads": {"*": [*loads, None]}}
    history["messages_per_second"] = [*map(float, history["messages_per_second"])]
    return {**line, "history": history}


@contextmanager
def watched(fleet: Fleet) -> Iterator[Watched]:
    """Ends by itself when the fleet does."""
    found = Watched()
    head = {"Authorization": f"Bearer {fleet.tokens['operator']}"}
    place = urlsplit(fleet.coordinator).netloc
    with closing(http.client.HTTPConnection(place, timeout=SECONDS)) as line:
        line.request("GET", "/watch", headers=head)
        answer = line.getresponse()

        def read() -> None:
            try:
                for text in answer:
                    found.lines.append(json.loads(text))
            except (OSError, ValueError, http.client.HTTPException):
                return  # it was ended

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        yield found
        thread.join(SECONDS)
