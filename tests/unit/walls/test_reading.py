"""A policy says what it says, or nothing: whatever is not known refuses the file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.walls.policy import Image, Mount, Policy, PolicyError, Range, UserClass
from penstock.walls.reading import read, read_ranges
from penstock.walls.writing import written, written_ranges

from .texts import ADMIN, DIGEST, TENANT, USER, policies


def test_a_tenant_as_people_write_it() -> None:
    assert read(TENANT) == Policy(
        user_class=UserClass.TENANT, tenant="acme", images=(Image(DIGEST, "/srv/images/acme"),),
        mounts=(Mount("/srv/tenants/acme/data", "/data", writable=True), Mount("/srv/models", "/models")),
        output="/srv/tenants/acme/output", tmp=2 << 30, net="private", limits=(("nproc", 512),),
        environment=("OMP_NUM_THREADS",), groups=(20001,),
    )  # fmt: skip


@given(policies)
def test_what_is_written_is_read_again_as_it_was_meant(policy: Policy) -> None:
    assert read(written(policy)) == policy


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("mout /a /b ro", 'line 3: unknown word "mout"'),
        ("class user", 'line 3: unknown word "class"'),
        ("tenant acme", "line 3: tenant: a word for tenant only"),
        ("root", "line 3: root: 1 values belong to it, and there are 0"),
        ("root /a /b", "line 3: root: 1 values belong to it, and there are 2"),
        ("root relative", 'line 3: root: "relative" is no path'),
        ("root /a/../b", "is no path"),
        ("root /a/./b", "is no path"),
        ("root /a//b", "is no path"),
        ("root /a/", "is no path"),
        ("root /a,b", "is no path"),
        ("root /a:b", "is no path"),
        ("root /$(id)", "is no path"),
        ("root /a\x00b", "it has a zero byte"),
        ("root /a\u00a0b", "is no path"),
        ("mount /a /b", "3 values belong to it"),
        ("mount /a /b rx", '"rx" is none of ro, rw'),
        ("mount /a / ro", "is no path"),
        ("mount /a /proc/x ro", "nothing can be shown in /proc"),
        ("mount /a /sys ro", "nothing can be shown in /proc"),
        ("mount /a /x ro\nmount /b /x rw", "line 4: mount: said twice of the same"),
        ("mount /a /x rw\nmount /b /x/y/z ro", "line 4: mount: /x/y/z lies within /x, which can be written to"),
        ("mount /b /x/y ro\nmount /a /x rw", "line 4: mount: /x/y lies within /x, which can be written to"),
        ("device /etc/passwd", "is not below /dev"),
        ("containers maybe", "is none of yes, no"),
        ("save maybe", "is none of yes, no"),
        ("root /a\nroot /a", "line 4: root: said twice"),
    ],
)
def test_whatever_is_wrong_refuses_the_file_and_names_the_line(line: str, told: str) -> None:
    with pytest.raises(PolicyError) as refused:
        read(f"penstock-walls 1\nclass user\n{line}\n")
    assert told in str(refused.value)


@pytest.mark.parametrize("missing", ["tenant", "image", "output"])
def test_a_tenant_needs_what_its_walls_are_made_of(missing: str) -> None:
    lines = [line for line in TENANT.splitlines() if not line.startswith(f"{missing} ")]
    with pytest.raises(PolicyError, match=f"a tenant needs {missing}"):
        read("\n".join(lines) + "\n")


@pytest.mark.parametrize("text", ["", "\n", "class admin\n", "penstock-walls 2\nclass admin\n", "penstock-walls 1\n"])
def test_a_file_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(PolicyError):
        read(text)


@given(st.sampled_from([TENANT, USER, ADMIN]), st.data())
def test_a_file_that_breaks_off_is_refused_unless_it_ends_with_a_line(text: str, data: st.DataObject) -> None:
    """Half a line could be another path."""
    part = text[: data.draw(st.integers(0, len(text) - 1))]
    if not part.endswith("\n"):
        with pytest.raises(PolicyError):
            read(part)


@pytest.mark.parametrize("size", ["-1", "0", "1.5G", "01", "9223372036854775808", "9999999999G", "1T", "0x10", "G"])
def test_a_size_that_is_none_is_refused(size: str) -> None:
    with pytest.raises(PolicyError, match=r"is no size|0 would mean"):
        read(TENANT.replace("tmp 2G", f"tmp {size}"))


def test_ranges() -> None:
    ranges = (Range(1000, 1999, UserClass.USER), Range(100000, 199999, UserClass.TENANT))
    assert read_ranges(written_ranges(ranges[::-1])) == ranges


@pytest.mark.parametrize(
    "line", ["range 5-4 user", "range 1-2 nobody", "range 1 user", "range 1-2", "range 0-4294967295 user",
             "range 10-20 user\nrange 20-30 tenant", "range 10-20 user\nrange 1-5 tenant"],
)  # fmt: skip
def test_ranges_that_are_none_or_overlap_are_refused(line: str) -> None:
    with pytest.raises(PolicyError):
        read_ranges(f"penstock-walls 1\n{line}\n")
