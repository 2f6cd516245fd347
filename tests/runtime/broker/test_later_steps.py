"""Steps that are started when a message needs them."""

import asyncio
import logging
from pathlib import Path

import pytest
from tests.runtime.broker.pretend import Pretended, message, route

from brokerwise.runtime.broker.into import Into
from brokerwise.runtime.broker.steps import Steps


class Stepping:
    """A broker's core that carries one topic, whose step is for later."""

    def __init__(self) -> None:
        self.broker = Pretended("b0")
        passage = self.broker.passage
        self.steps = Steps(passage, Into(passage, lambda topic, data: ""))
        self.broker.outside.process = self.steps.process  # type: ignore
        passage.routes_changed([route("gps", 1, "b0")])

    def hear(self, *seqs: int) -> None:
        session, _ = self.broker.session("cab")
        for seq in seqs:
            self.broker.hear(session, message("gps", seq, generation=1, data=seq))


def test_messages_wait_for_a_step_that_is_started_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    core = Stepping()

    async def work() -> None:
        await core.steps.start({}, {"gps": "step_functions:doubled"})
        core.hear(1, 2, 3, 4)
        waiting.append(core.steps.counts()["gps"]["waiting"])
        await core.steps.close()

    waiting: list[int] = []
    asyncio.run(work())
    counts = core.steps.counts()["gps"]
    assert waiting == [4]
    assert (counts["passed"], counts["dropped"], counts["waiting"]) == (2, 2, 0)


def test_a_step_that_cannot_be_started_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    core = Stepping()

    async def work() -> None:
        await core.steps.start({}, {"gps": "nowhere:nothing"})
        core.hear(1)
        await core.steps.close()

    with caplog.at_level(logging.WARNING):
        asyncio.run(work())
    assert "messages of topic 'gps' wait in vain" in caplog.text
