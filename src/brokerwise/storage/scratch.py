"""Arrays that tasks leave for one another, gone when the run is over."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from brokerwise.storage.output import Output
from brokerwise.storage.place import Place


@dataclass(frozen=True)
class Scratch:
    """A directory beside an output. Tasks of any machine may write to it."""

    root: Place
    run: str

    def write(self, name: str, array: npt.NDArray[Any]) -> None:
        content = io.BytesIO()
        np.save(content, array, allow_pickle=False)
        (self.root / name).write(content.getvalue())

    def read(self, name: str) -> npt.NDArray[Any]:
        """The array, mapped rather than read where the disk is this machine's."""
        place = self.root / name
        array: npt.NDArray[Any]
        if place.local is not None:
            array = np.load(place.local, mmap_mode="r")
        else:
            array = np.load(io.BytesIO(place.read()), allow_pickle=False)
        return array

    @contextmanager
    def writer(self, name: str) -> Iterator[pa.NativeFile]:
        """A stream of bytes to a new file."""
        filesystem, path = (self.root / name).open()
        with filesystem.open_output_stream(path) as stream:
            yield stream

    @contextmanager
    def reader(self, name: str) -> Iterator[pa.NativeFile]:
        filesystem, path = (self.root / name).open()
        with filesystem.open_input_stream(path) as stream:
            yield stream

    def delete(self, name: str) -> None:
        (self.root / name).delete()


@contextmanager
def scratch_beside(out: Place) -> Iterator[Scratch]:
    """A scratch directory for the time of the block, whatever ends it."""
    beside = out.beside(after=".scratch")
    output = Output.begin(beside, "scratch.json", force=True)
    try:
        yield Scratch(output.attempts(), output.run)
    finally:
        output.abort()
