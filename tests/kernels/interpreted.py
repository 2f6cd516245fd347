"""Kernels as plain Python, where an index out of range raises."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from unittest.mock import patch

import numpy as np


@contextmanager
def interpreted(*modules: ModuleType) -> Iterator[None]:
    """Replace the compiled functions of some modules, and those they import, by the
    functions that they were compiled from."""
    with ExitStack() as stack:
        for module in modules:
            for name, value in list(vars(module).items()):
                if hasattr(value, "py_func"):
                    stack.enter_context(patch.object(module, name, value.py_func))
        stack.enter_context(np.errstate(over="ignore"))  # hashes wrap on purpose
        yield
