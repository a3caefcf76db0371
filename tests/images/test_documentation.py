"""Every command of docs/images.md runs, in the order of the page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.images.library import Library
from penstock.images.recipe import book

from .conftest import Images

PAGE = Path(__file__).parents[2] / "docs/images.md"
SHELL = re.compile(r"```shell\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="session")
def suite() -> str:
    """One suite is enough: the page names the other one itself."""
    return book().default_suite


def test_the_page_from_top_to_bottom(library: Library, images: Images, tmp_path: Path) -> None:
    assert images
    blocks = SHELL.findall(PAGE.read_text())
    assert len(blocks) >= 5
    (tmp_path / "state").mkdir()
    (tmp_path / "state/images").symlink_to(library.directory)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ended = subprocess.run(
        ["/bin/bash", "-c", "set -euxo pipefail\n" + "\n".join(blocks)],
        cwd=tmp_path,
        env={"PATH": path, "PENSTOCK_STATE": str(tmp_path / "state"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    shutil.rmtree(
        library.place(library.find("localhost/mine/slurm:1").digest)
    )  # the page's last one; others share this
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said
    assert "localhost/penstock/slurm:26.05" in said
    assert "Traceback" not in said
