"""What is asked for by variables and options, as with Pyxis: obeyed or refused, and never passed over."""

import pytest

from .walled import USER, Walled

IMAGE = "--container-image=/"


@pytest.mark.parametrize("name", ["IMAGE", "MOUNTS"])
def test_a_variable_that_is_too_long_is_refused(node: Walled, name: str) -> None:
    """Nobody runs outside of the container that they asked for."""
    given = [f"PYXIS_CONTAINER_{name}=/{'x' * 70000}"]
    more = [] if name == "IMAGE" else [IMAGE]
    ended = node.run("env", *given, "srun", *more, "echo", "ran", uid=USER)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"the variable PYXIS_CONTAINER_{name} cannot be read; 65535 bytes are the most (W020)" in ended.stderr
