"""Model directories: what is written predicts the same when read, or is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.colocation import write_latency_model
from tests.latency.model_cases import (
    paper,
    simulated,
    small_unified,
    unified,
)

from brokerwise.latency.models import LatencyModel
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.storage.latency_model import (
    HEADER,
    ModelHeader,
    Origin,
    TrainedOn,
    read_latency_model,
)
from brokerwise.storage.place import Place
from brokerwise.storage.tables import json_digest, small_table_digest

MODELS: dict[str, Callable[[], LatencyModel]] = {"unified": unified, "paper": paper}
SOURCE = TrainedOn("/d", "ab" * 32, "measured", {"1": 30}, {"cores": 1})


def write(model: LatencyModel, path: Path, **options: Any) -> ModelHeader:
    scores = {"by_topics": {"1": {"test": 0.9}}}
    origin = Origin([SOURCE], simulated(), scores, [{"blend": 0.5}], 7, "0.1.0")
    return write_latency_model(model, origin, Place(str(path)), **options)


def sets(k: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(k)
    return random.uniform(1, 12, (50, k)), random.uniform(1, 200, (50, k))


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write(small_unified(), tmp_path / "m")
    return tmp_path / "m"


@pytest.mark.parametrize("kind", MODELS)
def test_what_was_written_predicts_the_same(kind: str, tmp_path: Path) -> None:
    model = MODELS[kind]()
    header = write(model, tmp_path / "m")
    read = read_latency_model(Place(str(tmp_path / "m")))
    assert read.header == header
    assert (header.kind, header.most_topics, header.seed) == (kind, 3, 7)
    assert header.trained_on == (SOURCE,)
    rows = simulated()
    assert header.ranges == {
        name: (getattr(rows, name).min(), getattr(rows, name).max())
        for name in ("processing_ms", "rate_per_second")
    }
    for k in (1, 2, 3):
        found = read.model.p90_ms(*sets(k))
        assert found.tolist() == model.p90_ms(*sets(k)).tolist()


@pytest.mark.parametrize("kind", MODELS)
def test_the_same_model_has_the_same_digest_and_another_another(
    kind: str, tmp_path: Path
) -> None:
    digests = [write(MODELS[kind](), tmp_path / str(n)).digest for n in range(2)]
    assert digests[0] == digests[1]
    assert write(small_unified(), tmp_path / "x").digest not in digests
    other = write(small_unified(most=3), tmp_path / "y").digest
    assert other != write(small_unified(), tmp_path / "z").digest


def test_everything_in_a_model_is_data(written: Path, tmp_path: Path) -> None:
    write(paper(), tmp_path / "p")
    for folder in (written, tmp_path / "p"):
        for file in folder.iterdir():
            assert file.suffix in (".json", ".parquet")
    trees = pq.read_table(written / "trees.parquet").to_pylist()
    assert trees[1] == dict(
        tree=1, feature=0, threshold=1.5, left=1, right=2, value=0.0
    )


def test_a_model_knows_the_configurations_that_it_was_trained_on(
    written: Path,
) -> None:
    stored = read_latency_model(Place(str(written)))
    assert stored.has_seen(simulated()).all()
    assert not stored.has_seen(simulated(seed=5)).any()
    few = simulated().take(np.arange(29, 32))  # one of one topic, one of two
    assert stored.has_seen(few).tolist() == [True] * 3


def mend(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the header, and make the digest fit again."""
    file = folder / HEADER
    header = json.loads(file.read_text())
    change(header)
    keys = ("kind", "most_topics", "parameters", "digests")
    header["digest"] = json_digest([header[key] for key in keys])
    file.write_text(json.dumps(header))


def replace_column(folder: Path, table: str, column: str, values: list[Any]) -> None:
    """Change a table by someone who knows how digests are made."""
    file = folder / f"{table}.parquet"
    found = pq.read_table(file)
    at = found.schema.get_field_index(column)
    changed = found.set_column(at, column, pa.array(values, found.schema.types[at]))
    pq.write_table(changed, file)
    digest = small_table_digest(changed)
    mend(folder, lambda header: header["digests"].update({table: digest}))


def refusal(folder: Path, kind: type[InputError] = InputError) -> str:
    with pytest.raises(kind) as caught:
        read_latency_model(Place(str(folder)))
    return caught.value.message


def test_trees_that_would_run_away_are_refused_by_name(written: Path) -> None:
    replace_column(written, "trees", "left", [0, 1, 0, 1, 0, 0])
    assert refusal(written) == (
        f"{written}: left of node 4 of the trees: found 1, expected the place of a "
        "later node of its tree"
    )


def test_weights_that_are_no_numbers_are_refused_by_name(
    written: Path, tmp_path: Path
) -> None:
    replace_column(written, "trees", "value", [float("nan"), 0, 1, 0, 2, 4])
    expected = f"{written}: value: found nan, expected finite numbers"
    assert refusal(written) == expected
    write(paper(), tmp_path / "p")
    count = pq.read_metadata(tmp_path / "p" / "terms.parquet").num_rows
    replace_column(tmp_path / "p", "terms", "coefficient", [float("inf")] * count)
    assert "coefficients: found inf" in refusal(tmp_path / "p")


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("weights", "output", 3, "one for each input and output of a layer, in order"),
        ("weights", "topics", 9, "weights of layer 2: found shape (39, 1)"),
        ("scaling", "input", 1, "scaling of 1 topics: expected inputs 0 to 1"),
        ("scaling", "scale", 0.0, "one each, above 0"),
        ("terms", "rate_power", -1, "each from 0 to 100"),
    ],
)
def test_tables_of_the_paper_that_do_not_fit_are_refused(
    table: str, column: str, value: float, message: str, tmp_path: Path
) -> None:
    write(paper(), tmp_path / "p")
    values = pq.read_table(tmp_path / "p" / f"{table}.parquet")[column].to_pylist()
    place = -1 if column == "topics" else 0
    values[place] = value
    replace_column(tmp_path / "p", table, column, values)
    assert message in refusal(tmp_path / "p")


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "kind": (lambda h: h.update(kind="magic"), "found kind 'magic', expected paper or"),
    "cores": (lambda h: h["parameters"].update(cores=0), "cores: found 0"),
    "blend": (lambda h: h["parameters"].update(blend="1"), "found blend '1', expected"),
    "features": (lambda h: h["parameters"].pop("features"), "features: found None"),
    "most": (lambda h: h.update(most_topics=0), "most_topics: found 0"),
    "tables": (lambda h: h["tables"].pop("trees"), "has no 'trees'"),
    "outside": (
        lambda h: h["tables"].update(trees="../trees.parquet"),
        "names a file outside its directory",
    ),
    "ranges": (lambda h: h.pop("ranges"), "missing required field `ranges`"),
    "format": (lambda h: h.update(format=2), "found format 2, expected 1"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_headers_that_cannot_be_used_are_refused_by_name(
    case: str, written: Path
) -> None:
    change, message = CHANGES[case]
    mend(written, change)
    found = refusal(written)
    assert message in found and str(written) in found


def test_the_number_of_topics_must_be_that_of_the_models(tmp_path: Path) -> None:
    write(paper(), tmp_path / "p")
    mend(tmp_path / "p", lambda header: header.update(most_topics=5))
    assert "found 5, and models for up to 3 topics" in refusal(tmp_path / "p")


def test_what_has_changed_since_is_refused(written: Path) -> None:
    header = json.loads((written / HEADER).read_text())
    header["parameters"]["blend"] = 0.9
    (written / HEADER).write_text(json.dumps(header))
    assert "it has changed since" in refusal(written, DigestMismatchError)


def test_a_damaged_table_is_refused_by_name(written: Path) -> None:
    file = written / "trees.parquet"
    found = pq.read_table(file)
    pq.write_table(found.slice(0, 5), file)
    assert refusal(written, DigestMismatchError).startswith(f"{file} has digest")
    file.write_bytes(file.read_bytes()[:100])
    assert f"{file} cannot be read" in refusal(written)
    file.unlink()
    assert str(file) in refusal(written)


def test_a_directory_that_is_no_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"it has no model\.json") as caught:
        read_latency_model(Place(str(tmp_path)))
    assert "latency train" in caught.value.hint


def test_a_model_is_replaced_only_by_force(written: Path) -> None:
    with pytest.raises(InputError, match="exists already"):
        write(small_unified(most=3), written)
    write(small_unified(most=3), written, force=True)
    assert read_latency_model(Place(str(written))).model.most_topics == 3
