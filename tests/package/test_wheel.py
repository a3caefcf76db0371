"""The wheel is complete: alone in an empty virtual environment it has all that Penstock needs."""

import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import yaml

from penstock.images.recipe import book

ROOT = Path(__file__).resolve().parents[2]
KINDS = {"Accounting", "Controller", "LoginSet", "NodeSet", "RestApi", "Token"}


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command far from the source tree, with nothing of this process's Python around it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    ended = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{command} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}"
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as a release would."""
    target = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", target, ROOT, cwd=target)
    return next(target.glob("*.whl"))


@pytest.fixture(scope="module")
def penstock(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel and its locked dependencies, and nothing else, into an empty environment."""
    home = tmp_path_factory.mktemp("empty")
    venv.create(home, with_pip=False)
    # The pip of this environment installs into the other: making one there would cost as long as all the rest.
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin/python"), "install", "--no-input"]
    run(*pip, "--require-hashes", "-r", ROOT / "requirements/runtime.txt", cwd=home)
    run(*pip, "--no-deps", "--no-index", wheel, cwd=home)
    return home / "bin/penstock"


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    source = [path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {str(path.relative_to(ROOT / "src")) for path in source} <= packed


def test_the_recipes_of_the_images_travel_in_the_wheel(wheel: Path) -> None:
    packed = zipfile.ZipFile(wheel)
    at_home = {f"penstock/images/recipes/{path.name}" for path in (ROOT / "images").iterdir()}
    assert at_home <= set(packed.namelist())
    suites = tomllib.loads(packed.read("penstock/images/recipes/suites.toml").decode())
    assert suites["default"] in suites["suites"]


def test_the_plugins_sources_travel_in_the_wheel(wheel: Path, penstock: Path, tmp_path: Path) -> None:
    """The worker's recipe names them; its tests stay at home."""
    spank = ROOT / "spank"
    files = [*spank.glob("*.[chm]*"), *spank.glob("selftest/*.[ch]"), *spank.glob("pam/*")]
    at_home = {f"penstock/images/spank/{path.relative_to(spank)}" for path in files if path.suffix != ".md"}
    assert {name for name in zipfile.ZipFile(wheel).namelist() if "/spank/" in name} == at_home
    look = "from penstock.images.recipe import book; print(book().recipe('worker').digest)"
    assert run(penstock.with_name("python"), "-c", look, cwd=tmp_path).strip() == book().recipe("worker").digest


def test_the_installed_command_finds_its_recipes(penstock: Path, tmp_path: Path) -> None:
    assert "slurm, worker" in run(penstock, "images", "build", "--help", cwd=tmp_path)


def test_the_command_tells_the_version_of_the_wheel(penstock: Path, wheel: Path, tmp_path: Path) -> None:
    assert wheel.name.split("-")[1] in run(penstock, "--version", cwd=tmp_path)


def test_the_command_prints_all_crds(penstock: Path, tmp_path: Path) -> None:
    crds = list(yaml.safe_load_all(run(penstock, "crds", cwd=tmp_path)))
    assert {crd["spec"]["names"]["kind"] for crd in crds if crd["kind"] == "CustomResourceDefinition"} == KINDS


def test_the_command_renders_its_own_sample(penstock: Path, tmp_path: Path) -> None:
    rendered = [item for item in yaml.safe_load_all(run(penstock, "render", "--sample", cwd=tmp_path)) if item]
    assert {"ConfigMap", "Service"} <= {item["kind"] for item in rendered}
