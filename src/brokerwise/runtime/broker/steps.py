"""The processing steps of a broker's topics."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import msgspec

from brokerwise.runtime.broker.passage import Passage
from brokerwise.runtime.broker.processing import Step, StepFullError
from brokerwise.runtime.broker.topic import Item

_DRAIN_SECONDS = 2.0


class Steps:
    """One step for each topic that has one; the messages of others pass by."""

    def __init__(self, passage: Passage) -> None:
        self._passage = passage
        self._steps: dict[str, Step] = {}
        self._stack = AsyncExitStack()

    async def start(self, specs: Mapping[str, str]) -> None:
        """Start the steps that do not run yet."""
        for topic, spec in specs.items():
            if topic not in self._steps:
                self._steps[topic] = await self._stack.enter_async_context(Step(spec))

    def process(self, name: str, item: Item) -> bool:
        """Put a message through its topic's step; False if there is none. A message
        that a step has no room for, or drops, is delivered to nobody."""
        step = self._steps.get(name)
        if step is None:
            return False
        topic = self._passage.topic(name)

        def done(data: bytes | None) -> None:
            skipped = data is None
            raw = msgspec.Raw(b"null" if data is None else data)
            self._passage.delivery.fan_out(topic, item, raw, skipped=skipped)

        try:
            step.submit(bytes(item.data), done)
        except StepFullError:
            return True  # counted there; subscribers are told of the gap
        return True

    def counts(self) -> dict[str, dict[str, Any]]:
        return {
            topic: {"waiting": len(step), **msgspec.to_builtins(step.counts)}
            for topic, step in self._steps.items()
        }

    async def close(self) -> None:
        """Let what waits come out, for a moment, and end the workers."""
        draining = [step.drain() for step in self._steps.values()]
        if draining:
            tasks = [asyncio.ensure_future(d) for d in draining]
            _, late = await asyncio.wait(tasks, timeout=_DRAIN_SECONDS)
            for task in late:
                task.cancel()
        await self._stack.aclose()
