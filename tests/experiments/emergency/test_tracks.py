"""Where users are."""

import pytest

from brokerwise.experiments.emergency.city import Place
from brokerwise.experiments.emergency.scenario import Action, Login, Move
from brokerwise.experiments.emergency.tracks import Track
from brokerwise.model.errors import InputError

THERE_AND_ON: list[Action] = [
    Move(0.0, "u", 100.0, 0.0, 0.0),
    Login(1.0, "u"),
    Move(10.0, "u", 200.0, 0.0, 20.0),
    Move(30.0, "u", 200.0, 80.0, 38.0),
    Move(34.0, "u", 0.0, 40.0, 54.0),  # it turns around on the way
]


@pytest.mark.parametrize(
    ("at", "place"),
    [
        (-1.0, (100.0, 0.0)),
        (0.0, (100.0, 0.0)),
        (10.0, (100.0, 0.0)),
        (15.0, (150.0, 0.0)),
        (20.0, (200.0, 0.0)),
        (29.0, (200.0, 0.0)),
        (32.0, (200.0, 20.0)),
        (34.0, (200.0, 40.0)),
        (44.0, (100.0, 40.0)),
        (54.0, (0.0, 40.0)),
        (1e6, (0.0, 40.0)),
    ],
)
def test_a_user_is_on_the_way_or_where_it_went(
    at: float, place: tuple[float, float]
) -> None:
    assert Track("u", THERE_AND_ON).place_at(at) == Place(*place)


@pytest.mark.parametrize("actions", [[], THERE_AND_ON[2:]])
def test_a_user_must_begin_somewhere(actions: list[Action]) -> None:
    with pytest.raises(InputError, match="'u': found no place to begin"):
        Track("u", actions)
