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
