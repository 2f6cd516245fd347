"""What a broker that is measured is given: cores, precedence, queues without end."""

import asyncio
import os
import subprocess
import sys

import pytest
from tests.runtime.broker.pretend import Pretended

from brokerwise.model.errors import InputError
from brokerwise.runtime.broker.into import Into
from brokerwise.runtime.broker.steps import Steps
from brokerwise.runtime.measuring.machine import cores_for, machine
from brokerwise.runtime.measuring.processor_time import busy
from brokerwise.runtime.protocol.limits import STEP_QUEUE_MESSAGES

BURN = """
import os, sys, time
from brokerwise.runtime.process.launch import set_scheduling
set_scheduling({int(sys.argv[1])}, 19)
child = os.fork()
nice = os.getpriority(os.PRIO_PROCESS, 0)
os.write(1, f"{os.sched_getaffinity(0)} {nice}\\n".encode())
end = time.process_time() + 0.2
while time.process_time() < end:
    pass
if child:
    os.write(1, b"done\\n")
sys.stdin.read()
"""


def test_a_process_takes_its_place_and_its_processor_time_is_seen() -> None:
    core = min(os.sched_getaffinity(0))
    command = [sys.executable, "-c", BURN, str(core)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(3)]
        assert sorted(lines) == ["done", *2 * [f"{{{core}}} 19"]]
        while busy(process.pid, [core]).own < 0.4:  # its child's part, too
            assert process.poll() is None
        assert busy(process.pid, [core]).cores >= 0.4
        process.stdin.close()
        process.stdout.close()


def test_the_broker_has_its_cores_and_everyone_else_the_others() -> None:
    first, *rest = sorted(os.sched_getaffinity(0))
    found = cores_for([first])
    assert (found.broker, found.others) == ((first,), tuple(rest))
    with pytest.raises(InputError, match="leaves none"):
        cores_for([first, *rest])
    with pytest.raises(InputError, match=r"found 4096, expected some of"):
        cores_for([first, 4096])
    assert machine()["cores"] == os.cpu_count() and machine()["cpu"]


@pytest.mark.parametrize(("limited", "refused"), [(True, 5), (False, 0)])
def test_any_number_of_messages_may_wait_where_latencies_are_measured(
    limited: bool, refused: int
) -> None:
    async def run() -> dict[str, int]:
        passage = Pretended("b0").passage
        into = Into(passage, lambda topic, data: "")
        steps = Steps(passage, into, limited=limited)
        await steps.start({"gps": "spin:0"})
        item = passage.item("cab", 1, 1, b"1", 0.0)  # type: ignore[arg-type]
        for _ in range(STEP_QUEUE_MESSAGES + 5):
            assert steps.process("gps", item)
        counts = steps.counts()["gps"]
        await steps.close()
        return counts

    counts = asyncio.run(run())
    assert counts["refused"] == refused
    assert counts["waiting"] == STEP_QUEUE_MESSAGES + 5 - refused
