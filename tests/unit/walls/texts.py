"""Policies as people write them, and as hypothesis does."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock.walls.policy import Image, Mount, Policy, UserClass
from penstock.walls.reading import LIMITS

DIGEST = "sha256:" + "a1" * 32
TENANT = f"""\
penstock-walls 1
class tenant
tenant acme
image {DIGEST} /srv/images/acme   # the default
mount /srv/tenants/acme/data /data rw
mount /srv/models /models ro

output /srv/tenants/acme/output
tmp 2G
net private
limit nproc 512
environment OMP_NUM_THREADS
group 20001
"""
USER = "penstock-walls 1\nclass user\nroot /srv/root\nkeep /local\ncontainers no\nsave no\n"
ADMIN = "penstock-walls 1\nclass admin\n"

_parts = st.from_regex(r"[A-Za-z0-9._@+-]{1,8}", fullmatch=True).filter(lambda part: part not in {".", ".."})
paths = st.lists(_parts, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
_numbers, _sizes = st.integers(0, 2**63 - 1), st.integers(1, 2**63 - 1)
_targets = paths.filter(lambda path: not f"{path}/".startswith(("/proc/", "/sys/", "/dev/")))
_mounts = st.builds(Mount, source=paths, target=_targets, writable=st.booleans())
_devices = paths.map(lambda path: f"/dev{path}")
_images = st.builds(Image, digest=st.from_regex(r"sha256:[0-9a-f]{64}", fullmatch=True), path=paths)


def _few(
    values: st.SearchStrategy[object], least: int = 0, *, alike: str = ""
) -> st.SearchStrategy[tuple[object, ...]]:
    unique = (lambda one: getattr(one, alike)) if alike else None
    return st.lists(values, min_size=least, max_size=3, unique_by=unique).map(tuple)


def _maybe(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | values


def _apart(mounts: tuple[object, ...]) -> bool:
    """Whether none of them lies within one that can be written to."""
    few = [one for one in mounts if isinstance(one, Mount)]
    return not any(outer.writable and inner.target.startswith(f"{outer.target}/") for inner in few for outer in few)


_names = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
tenants = st.builds(
    Policy, user_class=st.just(UserClass.TENANT), tenant=_names,
    images=_few(_images, 1), mounts=_few(_mounts, alike="target").filter(_apart), output=paths, workdir=_maybe(paths),
    tmp=_maybe(_sizes), shm=_maybe(_sizes), net=_maybe(st.sampled_from(["private", "host"])), devices=_few(_devices),
    limits=st.dictionaries(st.sampled_from(LIMITS), _numbers, max_size=3).map(lambda few: tuple(few.items())),
    groups=_few(st.integers(1, 2**32 - 2)),
    environment=_few(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True)),
)  # fmt: skip
users = st.builds(
    Policy, user_class=st.just(UserClass.USER), root=paths, keeps=_few(paths),
    mounts=_few(_mounts, alike="target").filter(_apart),
    devices=_few(_devices), device_set=_maybe(st.sampled_from(["node", "minimal"])), containers=_maybe(st.booleans()),
    save=_maybe(st.booleans()),
)  # fmt: skip
policies = tenants | users | st.just(Policy(user_class=UserClass.ADMIN))
