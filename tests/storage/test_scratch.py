from pathlib import Path

import numpy as np
import pytest

from brokerwise.storage.place import Place
from brokerwise.storage.scratch import scratch_beside


def test_what_is_written_is_read_back_and_gone_in_the_end(tmp_path: Path) -> None:
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    with scratch_beside(Place(str(tmp_path / "plan"))) as scratch:
        scratch.write(f"{scratch.run}.npy", array)
        assert scratch.read(f"{scratch.run}.npy").tolist() == array.tolist()
        with scratch.writer(f"{scratch.run}.raw") as writer:
            writer.write(b"abc")
        with scratch.reader(f"{scratch.run}.raw") as reader:
            assert reader.read(2) == b"ab"
        scratch.delete(f"{scratch.run}.raw")
        assert not (scratch.root / f"{scratch.run}.raw").exists()
    assert list(tmp_path.iterdir()) == []


def test_it_is_gone_after_an_error_too(tmp_path: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        scratch_beside(Place(str(tmp_path / "plan"))) as scratch,
    ):
        scratch.write(f"{scratch.run}.npy", np.zeros(1))
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
