"""The array types that the model and the kernels speak in."""

from typing import Any

import numpy as np
import numpy.typing as npt

from brokerwise.model.errors import InputError

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]

INT64_MAX = 2**63 - 1


def freeze_arrays(owner: object, what: str, **dtypes: type[np.integer[Any]]) -> None:
    """Make fields of a frozen dataclass read-only arrays of these types."""
    for field, dtype in dtypes.items():
        values = whole_numbers(getattr(owner, field), dtype, f"{field} of {what}")
        object.__setattr__(owner, field, values)


def whole_numbers(values: Any, dtype: type[np.integer[Any]], field: str) -> Any:
    """`values` (numpy, Arrow or a list) as a read-only array of `dtype`.

    A view, not a copy, where they have that type already. Fractions, truth values
    and numbers that do not fit are refused.
    """
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise InputError(
            f"{field}: found {array.dtype} of shape {array.shape}, "
            "expected one whole number after the other"
        )
    limits = np.iinfo(dtype)
    if array.dtype != dtype and len(array):
        least, most = int(array.min()), int(array.max())
        if least < limits.min or most > limits.max:
            wrong = least if least < limits.min else most
            raise InputError(
                f"{field}: found {wrong:,}, which does not fit {limits.dtype}"
            )
    return read_only(array.astype(dtype, copy=False))


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view of `array` that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def numbers(values: Any, field: str) -> Float64s:
    """`values` (numpy, Arrow or a list) as a read-only array of floats.

    A view, not a copy, where they have that type already. NaN and infinity are let
    through: the caller knows what they would mean.
    """
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iuf" and len(array)):
        raise InputError(
            f"{field}: found {array.dtype} of shape {array.shape}, "
            "expected one number after the other"
        )
    return read_only(array.astype(np.float64, copy=False))
