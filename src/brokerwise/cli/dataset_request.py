"""What `brokerwise dataset create` was asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brokerwise.cli.typed_columns import parse_columns
from brokerwise.model.errors import InputError

if TYPE_CHECKING:
    from brokerwise.runtime.protocol.data import Dataset, DatasetKind


@dataclass(frozen=True)
class DatasetRequest:
    """The options, as they were given; None: not given."""

    name: str | None = None
    kind: str | None = None
    columns: Sequence[str] = ()
    key: str | None = None
    file: Path | None = None

    def dataset(self) -> "Dataset":
        """Raises InputError for options or a file that say no dataset."""
        if self.file is not None:
            return self._of_file(self.file)
        from brokerwise.runtime.protocol.data import Dataset

        if self.name is None or self.kind is None or not self.columns:
            raise InputError(
                "a dataset has a name, a kind and columns",
                hint="As in: brokerwise dataset create reports --kind append "
                "--column id:string --column x:double (or --file FILE)",
            )
        columns = parse_columns("--column", self.columns)
        return Dataset(self.name, _kind(self.kind), columns, self.key or "")

    def _of_file(self, path: Path) -> "Dataset":
        if self.kind is not None or self.columns or self.key is not None:
            raise InputError(
                "--file says all of a dataset",
                hint="Leave out --kind, --column and --key, or --file.",
            )
        dataset = read_dataset(path)
        if self.name not in (None, dataset.name):
            raise InputError(
                f"{path} says dataset {dataset.name!r}, the command {self.name!r}",
                hint="Leave one of them out, or say the same.",
            )
        return dataset


def read_dataset(path: Path) -> "Dataset":
    """{"name", "kind", "columns": [{"name", "type"}, ...], "key"} as JSON. Raises
    InputError, which names the file."""
    import msgspec

    from brokerwise.runtime.protocol.data import Dataset

    try:
        return msgspec.json.decode(path.read_bytes(), type=Dataset)
    except OSError as cause:
        raise InputError(f"cannot read {path}: {cause.strerror}") from cause
    except (msgspec.DecodeError, UnicodeError) as cause:
        raise InputError(
            f"{path} says no dataset: {cause}",
            hint='Expected: {"name": "reports", "kind": "append", '
            '"columns": [{"name": "id", "type": "string"}]}',
        ) from cause


def _kind(text: str) -> "DatasetKind":
    from brokerwise.runtime.protocol.data import DatasetKind

    try:
        return DatasetKind(text)
    except ValueError:
        kinds = ", ".join(DatasetKind)
        raise InputError(f"--kind: found {text!r}, expected one of {kinds}") from None
