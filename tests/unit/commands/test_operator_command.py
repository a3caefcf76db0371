"""`penstock operator`: what it says before there is a cluster to talk to."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli import main, operator


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operator", "--kubeconfig", str(tmp_path / "nowhere")]) == 2
    said = capsys.readouterr().err
    assert str(tmp_path / "nowhere") in said
    assert "Traceback" not in said


@pytest.mark.parametrize("seconds", ["1", "0", "-3", "1.5", "long", "3601"])
def test_a_lease_too_short_to_be_kept_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["operator", f"--lease-duration={seconds}"])
    assert "is no whole number of seconds from 2 to 3600" in capsys.readouterr().err


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["operator", "--help"])
    said = capsys.readouterr().out
    assert "examples:" in said
    assert "--dry-run" in said


def test_conditions_of_machines_to_pass_on_are_named_by_their_types() -> None:
    """As Slinky's flag is written: with commas between them."""
    told = ["--propagated-node-conditions", "KernelDeadlock,,GPUUnhealthy"]
    assert operator.settings(operator.parser().parse_args(told)).propagated_node_conditions == (
        "KernelDeadlock", "GPUUnhealthy",
    )  # fmt: skip
    assert operator.settings(operator.parser().parse_args([])).propagated_node_conditions == ()
