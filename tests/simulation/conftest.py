from __future__ import annotations

import pytest

from penstock.operator import host_keys


@pytest.fixture(autouse=True)
def _small_host_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """RSA keys as large as people's take a second of CPU each; small ones are made by the same code."""
    monkeypatch.setattr(host_keys, "_RSA_BITS", 1024)
