"""What `make test` tries, `make test-long` tries more of."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
FIXED = re.compile(r"max_examples=(?!examples\(|EXAMPLES\b)")


def test_no_test_fixes_its_number_of_random_cases() -> None:
    fixed = [
        f"{path.relative_to(TESTS)}:{number}"
        for path in TESTS.rglob("*.py")
        if path != Path(__file__)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if FIXED.search(line)
    ]

    assert fixed == []
