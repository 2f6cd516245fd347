"""What is measured in the raw client's process."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.raw_client.connecting import Address
from benchmarks.raw_client.crowd import Crowd
from benchmarks.raw_client.speech import Speech

_PATIENCE_SECONDS = 30.0
_WARM_UP_SECONDS = 0.5
_SETTLE_SECONDS = 2.5  # for idle sessions: some beats of the broker
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Throughput:
    """Processor seconds per second, of the broker and of the client."""

    deliveries_per_second: float
    broker_cpu: float
    client_cpu: float


@dataclass(frozen=True)
class Latency:
    """Of all deliveries, at a steady rate; `per_second` is that which came about."""

    per_second: float
    p50_ms: float
    p99_ms: float
    client_cpu: float


def throughput(
    speech: Speech,
    address: Address,
    process: int,
    *,
    subscribers: int,
    seconds: float,
    window: int,
) -> Throughput:
    """Deliveries a second with so many messages on their way at any time. Raises
    WrongDeliveryError unless everyone gets everything."""
    with _warm(speech, address, subscribers) as crowd:
        _keep_busy(crowd, _WARM_UP_SECONDS, window)
        before = crowd.published
        start, busy, own = time.perf_counter(), _cpu(process), time.process_time()
        _keep_busy(crowd, seconds, window)
        took = time.perf_counter() - start
        deliveries = (crowd.published - before) * subscribers
        return Throughput(
            deliveries / took,
            (_cpu(process) - busy) / took,
            (time.process_time() - own) / took,
        )


def latency(
    speech: Speech,
    address: Address,
    *,
    subscribers: int,
    seconds: float,
    deliveries_per_second: float,
) -> Latency:
    """The time from a message's sending to each of its deliveries."""
    with _warm(speech, address, subscribers) as crowd:
        pause = subscribers / deliveries_per_second
        before = crowd.published
        crowd.latencies = []
        start = due = time.perf_counter()
        own = time.process_time()
        while (now := time.perf_counter()) < start + seconds:
            if now >= due:
                crowd.publish(1)
                due += pause
            crowd.turn(max(0.0, due - time.perf_counter()))
        crowd.wait_for_all(_PATIENCE_SECONDS)
        took = time.perf_counter() - start
        busy = (time.process_time() - own) / took
        p50, p99 = 1000 * np.percentile(crowd.latencies, [50, 99])
        deliveries = (crowd.published - before) * subscribers
        return Latency(deliveries / took, float(p50), float(p99), busy)


def bytes_per_session(
    speech: Speech, address: Address, process: int, *, sessions: int
) -> float:
    """Resident memory that idle sessions add to a process which had none."""
    before = _resident(process)
    crowd = Crowd(speech, address, sessions)
    try:
        end = time.perf_counter() + _SETTLE_SECONDS
        while time.perf_counter() < end:
            crowd.turn(0.1)
        return (_resident(process) - before) / sessions
    finally:
        crowd.close()


@contextmanager
def _warm(speech: Speech, address: Address, subscribers: int) -> Iterator[Crowd]:
    """Subscribers that have got their first message."""
    crowd = Crowd(speech, address, subscribers)
    try:
        crowd.publish(1)
        crowd.wait_for_all(_PATIENCE_SECONDS)
        yield crowd
    finally:
        crowd.close()


def _keep_busy(crowd: Crowd, seconds: float, window: int) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        room = window - (crowd.published - crowd.slowest())
        if room > 0:
            crowd.publish(room)
        crowd.turn(0.1)
    crowd.wait_for_all(_PATIENCE_SECONDS)


def _cpu(process: int) -> float:
    """Processor seconds that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _resident(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
