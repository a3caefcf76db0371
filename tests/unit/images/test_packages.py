"""Lists of packages: written, read, followed, and refused with a reason."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.images import deb, packages
from penstock.images.errors import BadRecipe, BuildFailed, PackageGone
from penstock.images.packages import Package

# Letters rather than regular expressions: hypothesis draws them ten times as fast.
NAMES = st.text("abz09+.-", max_size=8).map(lambda rest: f"a{rest}z")
VERSIONS = st.text("abz09.+~:-", max_size=8).map(lambda rest: f"1{rest}0")
PACKAGES = st.dictionaries(NAMES, VERSIONS, max_size=12).map(lambda found: [Package(*pair) for pair in found.items()])


@given(PACKAGES)
def test_a_written_list_reads_back(listed: list[Package]) -> None:
    assert packages.parse_list(packages.write_list(listed)) == {package.name: package.version for package in listed}


@given(PACKAGES)
def test_what_dpkg_would_record_reads_back(listed: list[Package]) -> None:
    controls = [f"Package: {p.name}\nVersion: {p.version}\nDescription: x\n Package: no\n" for p in listed]
    assert packages.parse_status(packages.status(controls)) == sorted(listed)


@given(PACKAGES)
def test_what_apt_says_it_takes_is_read(listed: list[Package]) -> None:
    shown = "".join(f"   {package.name} ({package.version})\n" for package in listed)
    said = (
        "Reading package lists...\nThe following additional packages will be installed:\n   other (1)\n"
        "Suggested packages:\n  cron | daemon\n"
        f"The following NEW packages will be installed:\n{shown}0 upgraded, {len(listed)} newly installed\n  x (2)\n"
    )
    assert packages.chosen(said) == listed


def test_comments_and_spaces_are_fine_in_a_list() -> None:
    assert packages.parse_list("# mine\n\nbash=5.3-1 # shell\n  libc6 2.43-7\n") == {"bash": "5.3-1", "libc6": "2.43-7"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bash=5.3-1\nbash", "line 2 .* 'bash'; write for instance"),
        ("bash=1\nbash=2", "line 2 .* bash in a second version"),
        ("ba sh=1 2", "line 1"),
        ("bash=$(reboot)", "line 1"),
        ("--allow=1", "line 1"),
    ],
)
def test_a_list_that_cannot_be_says_where(text: str, words: str) -> None:
    with pytest.raises(BadRecipe, match=words):
        packages.parse_list(text)


def test_an_archive_that_moved_on_is_told_package_by_package() -> None:
    taken = [Package("bash", "5.3-2"), Package("dash", "1"), Package("sed", "4.9-1")]
    with pytest.raises(
        PackageGone, match=r"no longer has bash=5\.3-1 \(it has 5\.3-2\), sed=4\.8-1 \(it has 4\.9-1\);"
    ):
        packages.check_pins(taken, {"bash": "5.3-1", "dash": "1", "sed": "4.8-1"})


def test_a_package_that_the_list_does_not_know_is_refused() -> None:
    """An image from a list holds that list and nothing else."""
    with pytest.raises(PackageGone, match="lacks dash;"):
        packages.check_pins([Package("bash", "1"), Package("dash", "1")], {"bash": "1", "unused": "1"})


def test_a_list_that_fits_passes() -> None:
    packages.check_pins([Package("bash", "1")], {"bash": "1", "unused": "1"})


@pytest.mark.parametrize(
    ("version", "upstream"),
    [("26.05.5-1", "26.05.5"), ("1:11.8.9+ds-2", "11.8.9"), ("14.2", "14.2"), ("5.3-1-2+b1", "5.3-1")],
)
def test_the_version_of_the_program_is_told_from_debians(version: str, upstream: str) -> None:
    assert Package("x", version).upstream == upstream


def test_a_file_is_found_by_the_name_that_apt_gives_it() -> None:
    assert Package("openssh-server", "1:10.6p1-1").file_stem == "openssh-server_1%3a10.6p1-1_"


@pytest.mark.parametrize("compression", ["xz", "gz", ""])
def test_a_package_tells_what_it_is(compression: str, tmp_path: Path) -> None:
    text = "Package: tiny\nVersion: 1.0\nDescription: ümlaut\n"
    (tmp_path / "tiny.deb").write_bytes(archive(compression, text))
    assert deb.control(tmp_path / "tiny.deb") == text


def test_a_real_package_reads_as_dpkg_reads_it(tmp_path: Path) -> None:
    control = tmp_path / "tree/DEBIAN/control"
    control.parent.mkdir(parents=True)
    control.write_text("Package: tiny\nVersion: 1.0\nArchitecture: all\nMaintainer: me <m@e>\nDescription: tiny\n")
    package = tmp_path / "tiny.deb"
    subprocess.run(  # noqa: S603
        ["/usr/bin/dpkg-deb", "--root-owner-group", "--build", tmp_path / "tree", package],
        check=True,
        capture_output=True,
    )
    assert deb.control(package) == control.read_text()


def test_a_file_that_is_no_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.deb").write_text("<html>404</html>")
    with pytest.raises(BuildFailed, match=r"x\.deb is no Debian package; remove it"):
        deb.control(tmp_path / "x.deb")


def archive(compression: str, control: str) -> bytes:
    """A package with nothing but a control file, of odd length on purpose."""
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode=f"w:{compression}") as tar:  # type: ignore[call-overload]
        member = tarfile.TarInfo("./control")
        member.size = len(control.encode())
        tar.addfile(member, io.BytesIO(control.encode()))
    ending = f".{compression}" if compression else ""
    return b"!<arch>\n" + entry("debian-binary", b"2.0\n#") + entry(f"control.tar{ending}", inner.getvalue())


def entry(name: str, content: bytes) -> bytes:
    """A member of an ar archive."""
    return (
        f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2)
    )
