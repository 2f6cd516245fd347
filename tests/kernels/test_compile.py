"""Compiled kernels are kept, and never used for sources that have changed."""

from pathlib import Path
from typing import Any

import numba

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
