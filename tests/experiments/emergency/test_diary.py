"""What users note, and how it is kept."""

from pathlib import Path

from brokerwise.experiments.emergency.diary import (
    LOGGED_OUT,
    Diary,
    Life,
    read_diaries,
    write_diary,
)


def diary_of(user: str, text: str) -> Diary:
    diary = Diary(gaps=1, unexpected=2)
    first = diary.begin(Life(user, "a", False, 1.0, 2.0, 3.0, LOGGED_OUT))
    diary.begin(Life(user, "b", True, 1.5))
    diary.note(first, 4, 1, text, 10.0)
    diary.note(first, 4, 2, "same", 11.0)
    diary.notice(user, 5, 12.0, 12.5)
    return diary


def test_diaries_of_several_players_are_read_as_one(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        write_diary(diary_of(name, "same"), tmp_path / name)
    whole = read_diaries([tmp_path / "ann", tmp_path / "bob"])
    assert whole.lives == diary_of("ann", "").lives + diary_of("bob", "").lives
    assert whole.handed.life == [0, 0, 2, 2]
    assert whole.handed.seq == [1, 2, 1, 2]
    assert whole.handed.at == [10.0, 11.0, 10.0, 11.0]
    assert whole.noticed.user == ["ann", "bob"]
    assert whole.texts == {(4, 1): "same", (4, 2): "same"}
    assert (whole.gaps, whole.unexpected, whole.different) == (2, 4, 0)


def test_a_result_that_is_not_the_same_for_all_is_counted(tmp_path: Path) -> None:
    write_diary(diary_of("ann", "one"), tmp_path / "ann")
    write_diary(diary_of("bob", "another"), tmp_path / "bob")
    assert read_diaries([tmp_path / "ann", tmp_path / "bob"]).different == 1


def test_an_empty_diary_can_be_kept(tmp_path: Path) -> None:
    write_diary(Diary(), tmp_path)
    assert read_diaries([tmp_path]) == Diary()
