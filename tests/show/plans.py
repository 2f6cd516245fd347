"""Plans of all kinds, small, made by the commands; and a server for a page of one."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.auditing.conftest import RATES, WANTED
from tests.colocation import save_model, save_topics, some_topics
from tests.runtime.net.ends import served_in_thread

import brokerwise
from brokerwise.cli.main import run
from brokerwise.model.workload import Workload
from brokerwise.runtime.net.server import Admit
from brokerwise.runtime.protocol.tokens import Keys, Role
from brokerwise.show.plan_page import make_service
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

    @asynccontextmanager
    async def opened() -> AsyncIterator[Admit]:
        yield make_service(view, KEYS).admit

    with served_in_thread(opened) as url:
        yield url
