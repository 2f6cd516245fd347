"""How kernels are compiled."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = numba.config


def kernel(function: F) -> F:
    """Compile to machine code on first use and keep it on disk for the next time."""
    with _own_cache():
        return cast(F, numba.njit(cache=True, nogil=True)(function))


def leaf(function: F) -> F:
    """Compile a small function that kernels call in their innermost loops.

    It does not count references to its arrays, which would cost more than what it
    does; so it can neither make arrays nor return them.
    """
    uncounted: dict[str, Any] = {"_nrt": False}  # numba uses it for its own strings
    with _own_cache():
        return cast(F, numba.njit(cache=True, nogil=True, **uncounted)(function))


@cache
def cache_directory(folder: Path = Path(__file__).parent) -> Path:
    """Where compiled kernels of a folder are kept, for its sources as they are.

    A kernel may call one of another file, whose changes numba alone would not
    notice: so any change of any of them makes a new directory.
    """
    digest = hashlib.sha256()
    for source in sorted(folder.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return folder / "__pycache__" / f"kernels-{digest.hexdigest()[:12]}"


@contextmanager
def _own_cache() -> Iterator[None]:
    """Numba asks for the directory when a function is decorated. Where a user has
    chosen one, or ours cannot be written, numba finds another."""
    chosen = _config.CACHE_DIR
    if not chosen:
        _config.CACHE_DIR = str(cache_directory())
    try:
        yield
    finally:
        _config.CACHE_DIR = chosen
