"""Plans of all kinds, small, made by the commands; and a server for a page of one."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.auditing.conftest import RATES, WANTED
from tests.colocation import save_model, save_topics, some_topics

import brokerwise
from brokerwise.cli.main import run
from brokerwise.model.workload import Workload
from brokerwise.runtime.net.listening import listen, server, url_of
from brokerwise.runtime.protocol.tokens import Keys, Role
from brokerwise.show.plan_page import make_app
from brokerwise.show.view import View
from brokerwise.storage.place import Place
from brokerwise.storage.workload import write_workload

KEYS = Keys.of_secret(b"secret")
TOKEN = KEYS.token(Role.OPERATOR, "view")


def newsroom() -> Workload:
    pairs = [(topic, u) for u, topics in WANTED.items() for topic in topics.split()]
    topics, subscribers = zip(*pairs, strict=True)
    return Workload.from_pairs(topics=topics, subscribers=subscribers, rates=RATES)


@dataclass(frozen=True)
class Plans:
    """Where plans are: `provision` is beside another one for another threshold."""

    folder: Path

    def of(self, kind: str) -> Place:
        return Place(
            str(self.folder / {"provision": "several/12-broker-45"}.get(kind, kind))
        )


def make_plans(folder: Path) -> Plans:
    """By the commands, as anybody would."""
    workload, network = str(folder / "workload"), str(folder / "network")
    write_workload(newsroom(), Place(workload))
    drawn = brokerwise.generate_network(
        users=30, brokers=4, subchannels=6, width=0.3, seed=4
    )
    brokerwise.write_network(drawn, network)
    topics = save_topics(folder / "topics.csv", some_topics(6))
    model = ["--model", save_model(folder / "model"), "--target-ms", "100", "--k", "4"]
    several = ["--threshold", "5,12", "--capacity", "45", "--out", "several"]
    for command, *rest in (
        ["provision", workload, *several],
        ["fill", workload, "--brokers", "2x45", "--out", "fill"],
        ["colocate", topics, *model, "--out", "colocate"],
        ["overlay", network, "--algorithm", "greedy", "--out", "overlay"],
    ):
        *options, out = rest
        assert run([command, *options, str(folder / out)]) == 0
    return Plans(folder)


@contextmanager
def served(view: View) -> Iterator[str]:
    """The address of a page, without the token, while it is served from a thread."""
    bound = listen("127.0.0.1", 0)
    up = threading.Event()
    serving = server(make_app(view, KEYS), up.set)
    thread = threading.Thread(target=lambda: asyncio.run(serving.serve([bound])))
    thread.start()
    try:
        assert up.wait(60)
        yield url_of(bound, "127.0.0.1", secure=False)
    finally:
        serving.should_exit = True
        thread.join()
        bound.close()
