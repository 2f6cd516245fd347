"""Plans of all kinds, made once: nothing here changes them."""

import pytest
from tests.show.plans import Plans, make_plans


@pytest.fixture(scope="session")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Plans:
    return make_plans(tmp_path_factory.mktemp("plans"))
