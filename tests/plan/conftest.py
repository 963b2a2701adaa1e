"""The matrix, read once."""

from __future__ import annotations

import pytest

from rocmdoctor.matrix import Matrix, load_matrix


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    return load_matrix()
