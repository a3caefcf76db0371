"""Every command in the documentation runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from penstock.cli import main
from penstock.cli.sources import sample

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
MANIFESTS = re.compile(r"```yaml\n(apiVersion:.*?)```", re.DOTALL)
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
COMMANDS = [
    pytest.param(line[2:], id=f"{page.name}: {line[2:]}")
    for page in PAGES
    for block in CONSOLE.findall(page.read_text())
    for line in block.splitlines()
    if line.startswith("$ ")
]


def test_there_are_commands_to_run() -> None:
    assert len(COMMANDS) > 10


@pytest.mark.parametrize("command", COMMANDS)
def test_a_documented_command_works(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the pages tell people to type works as it stands, in a directory with a cluster.yaml."""
    monkeypatch.chdir(tmp_path)
    Path("cluster.yaml").write_text(sample()[1])
    program, *words = shlex.split(command)
    assert program == "penstock"
    assert main(words) == 0


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=page.name) for page in PAGES for text in MANIFESTS.findall(page.read_text())]
)
def test_documented_manifests_are_right(text: str, tmp_path: Path) -> None:
    """Whole ones, that is, and not those that show a field or two."""
    (tmp_path / "cluster.yaml").write_text(text)
    assert main(["validate", str(tmp_path / "cluster.yaml")]) == 0
    assert main(["render", str(tmp_path / "cluster.yaml"), "--directory", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []
