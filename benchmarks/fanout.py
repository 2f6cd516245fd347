"""One message to many: deliveries of one broker against Mosquitto's.

Messages of 200 bytes go from one publisher to all subscribers of one topic, and a raw
client (benchmarks/raw_client, a process of its own) counts what arrives. It speaks our
protocol with all that belongs to it: handshake, login, identities, acknowledgements of
every 64 messages or 200 ms; and MQTT 3.1.1 at quality of service 0, and at 1 with an
acknowledgement of each message. The publisher has a bounded number of messages on their
way. Everyone must get everything, once and in order, or the run fails. Mosquitto runs
with its stock setting and with `set_tcp_nodelay`, and the better figure counts: the
higher rate, the lower latency. A JSON line for each:

- deliveries: rates with so many subscribers, as medians of interleaved runs, their
  ratios, and the processor time of brokers; 99th percentiles of latency when each
  broker gets messages at half of its own rate, and ours also at half of Mosquitto's.
- idle: resident memory that a session adds to a broker, with so many of them.

    python -m benchmarks.fanout [--subscribers 200 2000] [--repeats 5] [--seconds 4]
        [--window 64] [--sessions 2000 10000] [--parts deliveries idle]
"""

import argparse
import os
import resource
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

from benchmarks.measuring import print_line
from benchmarks.raw_client import measures
from benchmarks.raw_client.measures import Latency, Throughput
from benchmarks.raw_client.servers import (
    Target,
    mosquitto,
    mosquitto_program,
    our_broker,
)
from benchmarks.raw_client.speech import PAYLOAD_BYTES

T = TypeVar("T")
Run = Callable[..., Any]
_OTHER_FILES = 200  # that a process has open besides its connections
OURS, QOS0, QOS1 = "brokerwise", "mosquitto_qos0", "mosquitto_qos1"
ALIKE = "brokerwise_at_mosquitto_rate"  # half of its rate at quality of service 0
NODELAY = "_nodelay"  # is added to the name of a broker with that setting


@contextmanager
def client_process() -> Iterator[Callable[..., Any]]:
    """Calls functions in a process of its own, one after the other."""
    context = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        yield lambda work, *args, **named: pool.submit(work, *args, **named).result()


@contextmanager
def brokers() -> Iterator[dict[str, Target]]:
    """Those that there are, by their names; ours first."""
    with ExitStack() as stack:
        targets = {OURS: stack.enter_context(our_broker())}
        program = mosquitto_program()
        if program is not None:
            for suffix in ("", NODELAY):
                started = mosquitto(program, nodelay=bool(suffix))
                qos0, qos1 = stack.enter_context(started)
                targets |= {QOS0 + suffix: qos0, QOS1 + suffix: qos1}
        yield targets


def deliveries(run: Run, subscribers: int, options: argparse.Namespace) -> None:
    """Rates, then latencies at half of them."""

    def rate(name: str, target: Target) -> Any:
        return run(
            *(measures.throughput, target.speech(), target.address, target.process),
            subscribers=subscribers,
            seconds=options.seconds,
            window=options.window,
        )

    def latency(name: str, target: Target) -> Any:
        return run(
            *(measures.latency, target.speech(), target.address),
            subscribers=subscribers,
            seconds=options.seconds,
            deliveries_per_second=full[name.removesuffix(NODELAY)] / 2,
        )

    with brokers() as targets:
        rates = interleaved(targets, rate, options.repeats)
        best = better(rates, "deliveries_per_second", max)
        full = best | ({ALIKE: best[QOS0]} if QOS0 in best else {})
        timed = {n: targets.get(n, targets[OURS]) for n in (*targets, *full)}
        latencies = interleaved(timed, latency, options.repeats)
    report(subscribers, options, best, rates, latencies)


def better(
    runs: Mapping[str, Sequence[object]],
    field: str,
    choose: Callable[[float, float], float],
) -> dict[str, float]:
    """The median of a figure for each broker, at the better of its settings."""
    found: dict[str, float] = {}
    for name, some in runs.items():
        broker, value = name.removesuffix(NODELAY), median(some, field)
        found[broker] = choose(found.get(broker, value), value)
    return found


def interleaved(
    targets: dict[str, Target], measure: Callable[[str, Target], T], repeats: int
) -> dict[str, list[T]]:
    """What each gave, time after time, all in turn, so that a slow minute of the
    machine is shared by all."""
    found: dict[str, list[T]] = {name: [] for name in targets}
    for _ in range(repeats):
        for name, target in targets.items():
            found[name].append(measure(name, target))
    return found


def report(
    subscribers: int,
    options: argparse.Namespace,
    best: dict[str, float],
    rates: dict[str, list[Throughput]],
    latencies: dict[str, list[Latency]],
) -> None:
    p50 = better(latencies, "p50_ms", min)
    p99 = better(latencies, "p99_ms", min)
    all_rates = {n: median(some, "deliveries_per_second") for n, some in rates.items()}
    cpu = {n: median(some, "broker_cpu") for n, some in rates.items()}
    print_line(
        benchmark="fanout deliveries",
        subscribers=subscribers,
        message_bytes=PAYLOAD_BYTES,
        deliveries_per_second=best[OURS],
        ratio_to_mosquitto_qos0=ratio(best, QOS0),
        ratio_to_mosquitto_qos1=ratio(best, QOS1),
        p50_ms_at_half_rate=p50[OURS],
        p99_ms_at_half_rate=p99[OURS],
        p99_ms_at_half_mosquitto_rate=p99.get(ALIKE),
        mosquitto_qos0_p99_ms_at_half_rate=p99.get(QOS0),
        mosquitto_qos1_p99_ms_at_half_rate=p99.get(QOS1),
        per_second=rounded(all_rates),
        spread=rounded({n: spread(some) for n, some in rates.items()}),
        broker_cpu=rounded(cpu),
        client_cpu=rounded({n: median(r, "client_cpu") for n, r in rates.items()}),
        client_cpu_at_half_rate=rounded(
            {n: median(some, "client_cpu") for n, some in latencies.items()}
        ),
        per_cpu_second=rounded({n: all_rates[n] / cpu[n] for n in cpu if cpu[n]}),
        repeats=options.repeats,
        seconds=options.seconds,
        window=options.window,
        cores=os.cpu_count(),
    )


def ratio(rates: dict[str, float], other: str) -> float | None:
    return rates[OURS] / rates[other] if other in rates else None


def median(runs: Sequence[object], field: str) -> float:
    values: list[float] = [getattr(found, field) for found in runs]
    return statistics.median(values)


def spread(runs: Sequence[Throughput]) -> float:
    """How far apart the fastest and the slowest run are, as a part of the median."""
    values = [found.deliveries_per_second for found in runs]
    return (max(values) - min(values)) / statistics.median(values)


def rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.3g}") for name, value in figures.items()}


def idle(run: Run, sessions: int, options: argparse.Namespace) -> None:
    """Each broker is started anew: what it has freed before would be used again."""
    if sessions + _OTHER_FILES > raised_file_limit():
        print(
            f"{sessions} sessions need more open files than this machine allows "
            f"({raised_file_limit()}): left out",
            file=sys.stderr,
        )
        return
    found: dict[str, list[float]] = {}
    for _ in range(min(3, options.repeats)):
        with brokers() as targets:
            for name in [n for n in (OURS, QOS0) if n in targets]:
                target = targets[name]
                added = run(
                    measures.bytes_per_session,
                    *(target.speech(), target.address, target.process),
                    sessions=sessions,
                )
                found.setdefault(name, []).append(added)
    medians = {name: statistics.median(values) for name, values in found.items()}
    print_line(
        benchmark="fanout idle",
        sessions=sessions,
        bytes_per_session=round(medians[OURS]),
        mosquitto_bytes_per_session=round(medians[QOS0]) if QOS0 in medians else None,
        repeats=len(found[OURS]),
    )


def raised_file_limit() -> int:
    """As many open files as we may have, for us and all that we start."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--subscribers", nargs="+", type=int, default=[200, 2000])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--window", type=int, default=64)
    parser.add_argument("--sessions", nargs="+", type=int, default=[2000, 10_000])
    names = ("deliveries", "idle")
    parser.add_argument("--parts", nargs="+", choices=names, default=names)
    options = parser.parse_args(arguments)
    raised_file_limit()
    if mosquitto_program() is None:
        print(
            "mosquitto is not installed (apt install mosquitto): no ratios to it",
            file=sys.stderr,
        )
    with client_process() as run:
        if "deliveries" in options.parts:
            for subscribers in options.subscribers:
                deliveries(run, subscribers, options)
        if "idle" in options.parts:
            for sessions in options.sessions:
                idle(run, sessions, options)


if __name__ == "__main__":
    main()
