"""`penstock explain` tells the fields of our kinds from their schemas, without a cluster."""

from __future__ import annotations

import pytest

from penstock.cli import main


def test_a_field_is_explained_with_its_type_and_what_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "nss.spec.partition"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "GROUP:    slinky.slurm.net\nKIND:     NodeSet\nVERSION:  v1beta1\n\nFIELD:    partition <Object>"
    )
    assert "  config  <string>\n    Tail of the partition line" in said


def test_everything_is_listed_at_any_depth(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "nodeset", "--recursive"]) == 0
    assert "\n    volumeClaimTemplates" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("nodeset.spec.replica", 'NodeSet.spec has no field "replica"; did you mean replicas?'),
        ("pod", "`kubectl explain pod` knows it"),
        ("nodest", 'did you mean "nodeset"?'),
    ],
)
def test_what_is_not_known_is_told(capsys: pytest.CaptureFixture[str], path: str, told: str) -> None:
    assert main(["explain", path]) == 1
    assert told in capsys.readouterr().err
