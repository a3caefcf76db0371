"""People who build with buildah or Docker get what the recipes say."""

from __future__ import annotations

import shlex

import pytest

from penstock.images.plugin import FLAGS, MODULE_FLAGS, MODULE_LIBRARIES, PROGRAM_FLAGS
from penstock.images.recipe import Recipe, book, directory
from penstock.render.walls import HEALTH_PROGRAM

BOOK = book()
CONTAINERFILES = {
    "slurm": ("base", "slurm"),
    "worker": ("toolchain", "worker"),
    "login": ("login",),
    "mariadb": ("base", "mariadb"),
}


@pytest.fixture(params=CONTAINERFILES)
def role(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def lines(role: str) -> list[str]:
    """The instructions of a Containerfile, one per line."""
    text = (directory() / f"Containerfile.{role}").read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def recipes(role: str) -> list[Recipe]:
    return [BOOK.recipe(part) for part in CONTAINERFILES[role]]


def test_the_packages_are_the_recipes(role: str) -> None:
    installed = [line.partition("--no-install-recommends")[2].partition("&&")[0].split() for line in lines(role)]
    assert [name for names in installed for name in names] == [
        name for recipe in recipes(role) for name in recipe.packages
    ]


def test_the_files_are_the_recipes(role: str) -> None:
    copied = {}
    for words in (shlex.split(line) for line in lines(role) if line.startswith("COPY")):
        mode = next((int(word.partition("=")[2], 8) for word in words if word.startswith("--chmod=")), 0o644)
        copied[words[-1].lstrip("/")] = (words[-2], mode)
    wanted = {path: (file.source, file.mode) for recipe in recipes(role) for path, file in recipe.says.files.items()}
    assert copied == wanted


def test_plugins_and_programs_are_compiled_by_the_same_words(role: str) -> None:
    said = [line.partition("&& ")[2].split() for line in lines(role) if " gcc -" in line]
    chain = [recipe.says for recipe in recipes(role)]
    plugins = [["gcc", *FLAGS, "-o", f"/{name}", "*.c"] for says in chain for name in says.plugins]
    programs = [
        ["gcc", *PROGRAM_FLAGS, "-o", f"/{path.rpartition('/')[2]}", "*.c", f"{wanted.main}/*.c"]
        for says in chain
        for path, wanted in says.programs.items()
    ]
    modules = [
        ["gcc", *MODULE_FLAGS, "-o", f"/{name}", "*.c", f"{wanted.module}/*.c", *MODULE_LIBRARIES]
        for says in chain
        for name, wanted in says.modules.items()
    ]
    assert said == [*plugins, *programs, *modules]


def test_what_slurm_conf_calls_by_name_is_there() -> None:
    """HealthCheckProgram has no arguments, so the program has a second name."""
    name = HEALTH_PROGRAM.lstrip("/")
    assert BOOK.recipe("worker").says.links[name] == "penstock-walls"
    assert any(f"ln --symbolic penstock-walls /{name}" in line for line in lines("worker"))


def test_a_container_starts_the_same_way(role: str) -> None:
    config = BOOK.recipe(role).says.config
    text = lines(role)
    assert f"ENTRYPOINT {as_json(config.entrypoint)}" in text
    assert f"CMD {as_json(config.command)}" in text
    assert [line for line in text if line.startswith("ENV")] == [f"ENV {k}={v}" for k, v in config.env.items()]


def test_users_and_directories_are_named(role: str) -> None:
    text = "\n".join(lines(role))
    for recipe in recipes(role):
        assert all(
            f"--uid {number} --shell /usr/sbin/nologin {name}" in text for name, number in recipe.says.users.items()
        )
    for path, wanted in BOOK.recipe(role).says.directories.items():
        assert wanted.owner == "root" or f"/{path}" in text


def as_json(words: tuple[str, ...]) -> str:
    """As Containerfiles are written."""
    return "[" + ", ".join(f'"{word}"' for word in words) + "]"
