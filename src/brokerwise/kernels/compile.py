"""How kernels are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile to machine code on first use and keep it on disk for the next time.

    The cache notices changes of the kernel's own file only: a kernel that calls
    one of another file must be recompiled by hand (`make clean`).
    """
    return cast(F, numba.njit(cache=True, nogil=True)(function))


def leaf(function: F) -> F:
    """Compile a small function that kernels call in their innermost loops.

    It does not count references to its arrays, which would cost more than what it
    does; so it can neither make arrays nor return them.
    """
    uncounted: dict[str, Any] = {"_nrt": False}  # numba uses it for its own strings
    return cast(F, numba.njit(cache=True, nogil=True, **uncounted)(function))
