"""From latency data to models, and what is refused on the way."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.colocation import write_latency_model
from tests.latency.data_cases import first, write_data
from tests.latency.model_cases import simulated, small_unified

from brokerwise.latency.evaluation import Splits, Target
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.pipeline.latency_models import (
    EvaluationOptions,
    TrainingRequest,
    evaluate_model,
    evaluate_tables,
    gather,
    train_directory,
)
from brokerwise.storage.latency_model import (
    Origin,
    TrainedOn,
    read_latency_model,
)
from brokerwise.storage.latency_table import Columns
from brokerwise.storage.place import Place


@pytest.fixture
def data(tmp_path: Path) -> Place:
    return write_data(simulated(), f"{tmp_path}/d")


def model_of(rows: LatencyRows, path: Path, most: int = 3, cores: int = 1) -> Place:
    """A model that was trained, its header says, on these rows."""
    source = TrainedOn("/d", "00", "measured", {}, {"cores": cores})
    origin = Origin([source], rows, {}, [], 0, "0.1.0")
    write_latency_model(small_unified(most), origin, Place(str(path)))
    return Place(str(path))


def test_data_of_several_directories_is_one(data: Place, tmp_path: Path) -> None:
    more = write_data(simulated(seed=9), f"{tmp_path}/e", "measured", rate_each=1)
    gathered = gather([data, more])
    assert gathered.subject.samples.sizes() == {1: 60, 2: 60, 3: 60}
    assert [each.source for each in gathered.sources] == ["simulated", "measured"]
    assert gathered.sources[0].configurations == {"1": 30, "2": 30, "3": 30}
    assert list(gathered.remarks) == [
        "measured and simulated data together",
        "data with different rate each (1, None) together",
    ]
    assert (gathered.most, gathered.subject.cores) == (3, 1.0)


def test_larger_configurations_are_left_out_where_fewer_topics_are_wanted(
    data: Place,
) -> None:
    gathered = gather([data], 2)
    assert gathered.subject.samples.sizes() == {1: 30, 2: 30}
    assert (gathered.most, gathered.larger, gathered.late) == (2, 30, 0)
    with pytest.raises(InputError, match=r"--k 4: .* of up to 3 topics") as caught:
        gather([data], 4)
    assert caught.value.hint.endswith("use --k 3.")


def test_configurations_that_were_late_are_left_out(tmp_path: Path) -> None:
    data = write_data(simulated(), f"{tmp_path}/d", late=[0, 1, 30])
    gathered = gather([data])
    assert (gathered.late, gathered.subject.samples.sizes()[1]) == (3, 28)


@pytest.mark.parametrize("name", ["cores", "message_bytes"])
def test_data_of_different_brokers_is_refused(
    name: str, data: Place, tmp_path: Path
) -> None:
    other = write_data(simulated(seed=9), f"{tmp_path}/e", **{name: 7})
    with pytest.raises(InputError, match="one model is for one kind of br") as caught:
        gather([data, other])
    assert caught.value.details[1] == f"{other}: 7"


def test_data_that_does_not_say_how_many_cores_is_refused(tmp_path: Path) -> None:
    data = write_data(simulated(), f"{tmp_path}/d", cores="two")
    with pytest.raises(InputError, match=r"latency\.json: found cores 'two'"):
        gather([data])


def test_data_that_is_there_twice_is_refused(data: Place) -> None:
    with pytest.raises(InputError, match="holds the same rows as"):
        gather([data, Place(f"{data}/")])


def test_too_few_configurations_are_refused(tmp_path: Path) -> None:
    rows = first(simulated(), {1: 30, 2: 3, 3: 30})
    data = write_data(rows, f"{tmp_path}/d")
    with pytest.raises(InputError, match="too few configurations") as caught:
        gather([data])
    assert caught.value.details == ("2 topics: found 3",)
    with pytest.raises(InputError, match="found no configurations that can be used"):
        gather([write_data(first(simulated(), {}), f"{tmp_path}/e")])


def test_what_is_no_number_in_the_data_is_named(data: Place) -> None:
    file = Path(f"{data}/rows.parquet")
    table = pq.read_table(file)
    values = table["p90_ms"].to_numpy().copy()
    values[4] = np.nan
    at = table.schema.get_field_index("p90_ms")
    pq.write_table(table.set_column(at, "p90_ms", pa.array(values)), file)
    with pytest.raises(InputError) as caught:
        gather([data])
    assert caught.value.message == (
        f"{file}: p90_ms of row 5: found nan, expected a number above 0"
    )
    values[4] = 12.5
    pq.write_table(table.set_column(at, "p90_ms", pa.array(values)), file)
    with pytest.raises(DigestMismatchError):
        gather([data])


def test_a_model_of_the_paper_is_trained_and_kept(data: Place, tmp_path: Path) -> None:
    out = Place(f"{tmp_path}/m")
    request = TrainingRequest("paper", 2, 3, Target(100.0))
    trained = train_directory([data], out, request)
    stored = read_latency_model(out)
    assert stored.header == trained.header
    assert (stored.header.kind, stored.header.most_topics) == ("paper", 2)
    assert stored.header.candidates == ()
    scores = stored.header.scores["by_topics"]
    assert {k: each["held_out"] for k, each in scores.items()} == {"1": 6, "2": 6}
    assert scores["2"]["verdicts"]["met"] >= scores["2"]["verdicts"]["refused"]
    rows = simulated()
    two = next(of for k, of in rows.sets() if k == 2)
    p, r = rows.processing_ms[two], rows.rate_per_second[two]
    assert (stored.model.p90_ms(p, r) == trained.model.p90_ms(p, r)).all()
    assert stored.has_seen(first(rows, {2: 30})).all()
    assert not stored.has_seen(first(rows, {3: 30})).any()


def test_nothing_is_left_behind_if_training_fails(tmp_path: Path) -> None:
    data = write_data(first(simulated(), {1: 3}), f"{tmp_path}/d")
    with pytest.raises(InputError, match="too few"):
        train_directory([data], Place(f"{tmp_path}/m"), TrainingRequest())
    assert [each.name for each in tmp_path.iterdir()] == ["d"]
    with pytest.raises(InputError, match="kind: found 'magic', expected paper or uni"):
        TrainingRequest("magic")


def test_a_model_is_judged_on_what_it_has_not_seen(data: Place, tmp_path: Path) -> None:
    half = first(simulated(), {1: 10, 2: 10, 3: 10})
    model = model_of(half, tmp_path / "m")
    found = evaluate_model(model, [data], Target(100.0))
    assert found.left_out == 30
    assert [each.configurations for each in found.outcomes] == [20, 20, 20]
    outcome = found.outcomes[1]
    stored = read_latency_model(model).model
    rows = simulated()
    two = next(of for k, of in rows.sets() if k == 2)[10:]
    p90 = stored.p90_ms(rows.processing_ms[two], rows.rate_per_second[two])
    assert outcome.predicted_ms["model"] == pytest.approx(p90.ravel())
    assert outcome.observed_ms == pytest.approx(rows.p90_ms[two].ravel())
    met = int((rows.p90_ms[two] <= 100).sum())
    assert outcome.kinds["model"]["verdicts"]["met"] == met


def test_a_model_is_not_judged_on_what_it_was_trained_on(
    data: Place, tmp_path: Path
) -> None:
    model = model_of(simulated(), tmp_path / "m")
    with pytest.raises(InputError, match="was trained on all of") as caught:
        evaluate_model(model, [data], None)
    assert "Name data that it was not trained on" in caught.value.hint


def test_a_model_for_fewer_topics_or_other_cores_is_refused(
    data: Place, tmp_path: Path
) -> None:
    unseen = simulated(seed=9)
    small = model_of(unseen, tmp_path / "small", most=2)
    with pytest.raises(
        InputError, match="knows up to 2 topics on a broker; the data h"
    ):
        evaluate_model(small, [data], None)
    assert len(evaluate_model(small, [data], None, most=2).outcomes) == 2
    other = model_of(unseen, tmp_path / "other", cores=4)
    with pytest.raises(InputError, match="for brokers with 4 cores, the data is of br"):
        evaluate_model(other, [data], None)


def test_tables_need_enough_configurations(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("g,p,a\n" + "".join(f"{n // 2},{n + 1},{n}\n" for n in range(20)))
    with pytest.raises(InputError, match=r"found 10 configurations \(values of 'g'\)"):
        evaluate_tables(
            [Place(str(file))], Columns("g", "p", ("a",)), EvaluationOptions()
        )


def test_kinds_that_are_not_known_are_refused() -> None:
    with pytest.raises(
        InputError, match="kinds: found 'magic', expected paper, paper-200, unif"
    ):
        EvaluationOptions(Splits(), None, ("paper", "magic"))
    with pytest.raises(InputError, match="kinds: found none"):
        EvaluationOptions(kinds=())
