"""Compiled kernels are kept, and never used for sources that have changed."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numba
import numpy as np
import pytest

from brokerwise.kernels import compile as compiling
from brokerwise.kernels import names
from brokerwise.kernels.compile import cache_directory


def test_any_change_of_any_kernel_makes_a_new_directory(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("a = 1\n")
    (tmp_path / "two.py").write_text("b = 2\n")
    before = cache_directory.__wrapped__(tmp_path)
    assert cache_directory.__wrapped__(tmp_path) == before
    (tmp_path / "two.py").write_text("b = 3\n")
    assert cache_directory.__wrapped__(tmp_path) != before


def test_kernels_are_kept_there_and_nothing_else_is() -> None:
    kept = names.hash_buckets.stats.cache_path  # type: ignore[attr-defined]
    assert str(cache_directory()) in kept
    config: Any = numba.config
    assert not config.CACHE_DIR


COMPILE = """
import sys, time
from pathlib import Path
import numpy as np
import numba.core.compiler as compiler
from brokerwise.kernels import compile
compile.cache_directory = lambda: Path(sys.argv[1])

compiled = []
original = compiler.compile_extra
def counted(*arguments, **options):
    compiled.append(arguments)
    return original(*arguments, **options)
compiler.compile_extra = counted

@compile.leaf
def twice(x): return 2 * x

@compile.kernel
def total(values):
    result = 0
    for value in values:
        result += twice(value)
    return result

print("ready", flush=True)
sys.stdin.readline()
assert total(np.arange(10)) == 90
print(len(compiled))
"""


def test_numbers_are_not_compiled_for_one_by_one_but_flags_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "cache_directory", lambda: tmp_path)

    @compiling.leaf
    def twice(x: Any, negative: bool) -> Any:
        return -2 * x if negative else 2 * x

    @compiling.kernel
    def total(values: Any) -> Any:
        result = twice(0, False)
        for value in values:
            result += twice(value, False)
        return result + twice(2**40, False) + twice(1, True)

    # The narrower type first, to which 2**40 must not be converted.
    assert total(np.arange(10, dtype=np.int32)) == 90 + 2**41 - 2
    assert total(np.arange(10)) == 90 + 2**41 - 2
    compiled: Any = twice
    assert sorted(map(str, compiled.signatures)) == [
        "(int32, Literal[bool](False))",
        "(int64, Literal[bool](False))",
        "(int64, Literal[bool](True))",
    ]


def test_processes_do_not_compile_the_same_at_the_same_time(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(COMPILE)
    command = [sys.executable, str(script), str(tmp_path / "kept")]
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True)
            )
            for _ in range(3)
        ]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [process.communicate()[0] for process in processes]
    assert sorted(map(int, said)) == [0, 0, 2]
