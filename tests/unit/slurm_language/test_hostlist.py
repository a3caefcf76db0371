"""Host lists read and write like Slurm's, and refuse what Slurm would misread."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.slurm.hostlist import HostlistError, compress, expand

words = st.text(alphabet="ab-", max_size=2)
numbers = st.one_of(st.integers(0, 12).map(str), st.sampled_from(["00", "01", "08", "09", "010", "099", "100"]))
names = st.builds("".join, st.lists(st.one_of(words, numbers), min_size=1, max_size=5)).filter(bool)


# What libslurmfull 26.05 answers for the same texts.
@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", []),
        ("login", ["login"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("n[098-101]", ["n098", "n099", "n100", "n101"]),
        ("n[8-010]", ["n8", "n9", "n10"]),
        ("n[08-9]", ["n08", "n09"]),
        ("n[1-2]-ib", ["n1-ib", "n2-ib"]),
        ("n[1-2][3-4]", ["n13", "n14", "n23", "n24"]),
        ("rack[1-2]n[01-02,7]", ["rack1n01", "rack1n02", "rack1n7", "rack2n01", "rack2n02", "rack2n7"]),
        ("n[1-2]x[5,6],z", ["n1x5", "n1x6", "n2x5", "n2x6", "z"]),
        ("[1-3]", ["1", "2", "3"]),
        ("n[1,1]", ["n1", "n1"]),
    ],
)
def test_a_list_names_the_hosts_that_slurm_names(text: str, hosts: list[str]) -> None:
    assert expand(text) == hosts


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("n[1-2", "close the bracket"),
        ("n1]", "a ] without its ["),
        ("n[[1-2]]", "brackets inside brackets"),
        ("n[]", "empty range"),
        ("n[1,]", "empty range"),
        ("a,,b", "empty item"),
        (",a", "empty item"),
        ("a,", "empty item"),
        ("n[3-1]", "write 1-3"),
        ("n[a-b]", '"a-b" is no range'),
        ("n[1-]", '"1-" is no range'),
        ("n[-3]", '"-3" is no range'),
        ("n[1-2-3]", '"1-2-3" is no range'),
        ("n[ 1-2]", '" 1-2" is no range'),
        ("n[²]", "is no range"),
        ("n1 n2", "' ' cannot stand in a host name"),
        ("n1\n", r"'\n' cannot stand in a host name"),
        ("n1;reboot", "';' cannot stand in a host name"),
        ("feature{gpu}", "'{' cannot stand in a host name"),
        ("n[9999999999999999999]", "more than 18 digits"),
    ],
)
def test_a_refusal_names_the_text_the_cause_and_the_remedy(text: str, advice: str) -> None:
    with pytest.raises(HostlistError, match=re.escape(advice)) as refusal:
        expand(text)
    assert f'"{text}"' in str(refusal.value)


@pytest.mark.parametrize("text", ["n[0-999999999]", "a[0-9999]b[0-9999]", "n[0-999999999999999999]", "a[0-9]" * 5000])
def test_a_list_too_long_is_refused_before_it_is_made(text: str) -> None:
    """The counting costs nothing: a second would already mean that names were built."""
    start = time.perf_counter()
    with pytest.raises(HostlistError, match="more than 65536"):
        expand(text)
    assert time.perf_counter() - start < 1


def test_the_limit_counts_the_whole_list_and_is_itself_allowed() -> None:
    assert len(expand("a[1-3],b[1-2]", limit=5)) == 5
    with pytest.raises(HostlistError, match="names 5 hosts, more than 4"):
        expand("a[1-3],b[1-2]", limit=4)


def test_a_refusal_of_a_long_text_stays_readable() -> None:
    with pytest.raises(HostlistError) as refusal:
        expand("n" * 100_000 + "[")
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n3", "n1", "n2", "n2"], "n[1-3]"),
        (["rack1n1", "rack1n2", "rack1n3", "rack2n1"], "rack1n[1-3],rack2n1"),
        (["login1", "login", "login2"], "login,login[1-2]"),
        (["rack10n1", "rack2n1"], "rack2n1,rack10n1"),
        (["n08", "n09", "n10", "n11"], "n[08-11]"),
        (["n9", "n10", "n09"], "n[9,09-10]"),
        (["n1", "n01", "n3"], "n[1,01,3]"),
        (["b1", "login", "a2", "login-1"], "a2,b1,login,login-1"),
        (["n1-ib", "n2-ib", "n1-eth"], "n1-eth,n[1-2]-ib"),
    ],
)
def test_names_come_together_in_brackets_at_their_last_number(hosts: list[str], text: str) -> None:
    assert compress(hosts) == text


@pytest.mark.parametrize("name", ["", "a,b", "a b", "n[1]", "a\n"])
def test_a_name_that_could_not_be_read_back_is_refused(name: str) -> None:
    with pytest.raises(HostlistError):
        compress([name])


def test_numbers_longer_than_slurm_can_count_survive() -> None:
    """Slurm turns a 20-digit range end into another number, so ranges stay within 18 digits."""
    hosts = ["n" + "9" * 20, "n" + "9" * 19 + "8"]
    assert sorted(expand(compress(hosts))) == sorted(hosts)


@given(st.lists(names, max_size=12))
@settings(max_examples=100, deadline=None)
def test_what_was_compressed_expands_to_each_name_once_in_natural_order(hosts: list[str]) -> None:
    once = expand(compress(hosts))
    assert sorted(once) == sorted(set(hosts))
    assert once == expand(compress(reversed(hosts))), "the order is that of the names, not of the input"
    assert compress(once) == compress(hosts)


@given(st.lists(st.integers(0, 10**19), min_size=1, max_size=10), st.sampled_from(["", "-ib"]))
@settings(max_examples=100, deadline=None)
def test_plain_numbers_come_in_the_order_of_their_values(values: list[int], suffix: str) -> None:
    values = [value for value in values if value < 10**18]
    assert expand(compress(f"n{value}{suffix}" for value in values)) == [f"n{v}{suffix}" for v in sorted(set(values))]


@given(
    st.lists(st.tuples(words, st.integers(0, 15), st.integers(0, 5), st.integers(1, 3), words), min_size=1, max_size=4)
)
@settings(max_examples=100, deadline=None)
def test_compressing_an_expansion_loses_no_host(ranges: list[tuple[str, int, int, int, str]]) -> None:
    items = [f"x{a}[{str(first).zfill(width)}-{first + more}]{b}" for a, first, more, width, b in ranges]
    hosts = expand(",".join(items))
    assert set(expand(compress(hosts))) == set(hosts)


@given(st.text(alphabet="n01-,[] é\n", max_size=14))
@settings(max_examples=150, deadline=None)
def test_any_text_is_either_hosts_or_a_clear_refusal(text: str) -> None:
    try:
        hosts = expand(text)
    except HostlistError:
        return
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", host) for host in hosts)
