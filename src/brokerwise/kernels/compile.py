"""How kernels are compiled."""

import fcntl
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.core.compiler_lock import global_compiler_lock

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = numba.config
_locks: set[str] = set()  # that this process has


def kernel(function: F) -> F:
    """Compile to machine code on first use and keep it on disk for the next time."""
    with _own_cache():
        return cast(F, _once(numba.njit(cache=True, nogil=True)(function)))


def leaf(function: F) -> F:
    """Compile a small function that kernels call in their innermost loops.

    It does not count references to its arrays, which would cost more than what it
    does; so it can neither make arrays nor return them.
    """
    uncounted: dict[str, Any] = {"_nrt": False}  # numba uses it for its own strings
    with _own_cache():
        compiled = numba.njit(cache=True, nogil=True, **uncounted)(function)
        return cast(F, _once(compiled))


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


def _once(compiled: Any) -> Any:
    """Processes that need the same kernel at the same time wait for the one that
    compiles it, and then find it on disk."""
    compile_now = getattr(compiled, "compile", None)
    if compile_now is None:  # numba is told not to compile
        return compiled
    function = compiled.py_func
    name = f"{function.__module__}.{function.__qualname__}.lock"

    def compile_once(signature: Any) -> Any:
        # Numba's lock first, as it is what other threads wait for while they have it.
        with global_compiler_lock, _locked(name):
            return compile_now(_for_any_number(signature))

    compiled.compile = compile_once
    return compiled


def _for_any_number(signature: Any) -> Any:
    """Types of arguments, without those that are one number only.

    Where a kernel calls another with a constant, numba would compile that one for this
    number alone: most often in vain, as it is but the first value of a variable. The
    call is then resolved to the exact type of the number, which is always there. Truth
    values stay: code for a flag that is set is faster.
    """
    if not isinstance(signature, tuple):
        return signature
    return tuple(
        kind.literal_type if isinstance(kind, types.IntegerLiteral) else kind
        for kind in signature
    )


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """Alone among processes, as far as files can be locked there; one thread at a
    time comes here, maybe again for what it has locked."""
    if name in _locks:
        yield
        return
    try:
        cache_directory().mkdir(parents=True, exist_ok=True)
        file = (cache_directory() / name).open("ab")
    except OSError:
        yield
        return
    with file:  # closing it ends the lock
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        _locks.add(name)
        try:
            yield
        finally:
            _locks.discard(name)


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
