"""People come by ssh to the node where their job runs, see the files of everywhere, and are gone with the job (TR-1).

Nodes here have no control groups for Slurm, so that a session is held to its job's limits cannot be shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from penstock.api.objects import Json

from .people import Person, account, root
from .site import WORKERS, Said, Site, eventually, is_ready

NODE, POD = "compute-0", f"{WORKERS}-0"
HOP = "ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new"
QUIET = "-o LogLevel=ERROR"  # else it tells of a host key that is new, and of why somebody is refused
TENANT = 200_001
# With which a person comes from the login node to the others. The first file of keys is root's, or a mount.
KEY = """\
[ -e ~/.ssh/id_ed25519 ] || ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519
cp ~/.ssh/id_ed25519.pub ~/.ssh/authorized_keys2
"""


@pytest.fixture(scope="module")
def opened(shared: Site) -> Iterator[Site]:
    """Have sshd on all workers, as long as this module needs it."""
    sssd = shared.get("loginsets", "slurm-login")["spec"]["sssdConfRef"]
    change(shared, {"enabled": True, "sssdConfRef": sssd})
    eventually(lambda: shared.slurm("scontrol", "show", "config"), lambda said: "Contain" in said)
    yield shared
    change(shared, None)


def change(site: Site, ssh: object) -> None:
    site.says("patch", f"nodeset/{WORKERS}", "--type=merge", "-p", json.dumps({"spec": {"ssh": ssh}}))
    site.says("rollout", "status", f"nodeset/{WORKERS}", "--timeout=120s", patience=150)
    site.until("nodesets", WORKERS, is_ready)


@pytest.fixture
def alice(opened: Site, cluster: Site) -> Iterator[Person]:
    """Somebody with a key for the way from node to node, and without jobs, before and after."""
    assert opened is cluster
    alice = account(cluster, "alice")
    alice.says(KEY)
    yield alice
    alice.says("scancel --me")


def hop(person: Person, script: str, *options: str) -> Said:
    """Go on from the login node to the first worker, and run a script there."""
    return person.ssh(" ".join(["ssh", *options, *HOP.split()[1:], NODE, "bash -s"]), given=script)


def job(person: Person, words: str = "sbatch --parsable -o /dev/null --wrap 'sleep 600'") -> str:
    """Have a job on the first worker."""
    head, _, tail = words.partition(" ")
    person.says(f"{head} -w {NODE} -J here {tail}")
    running = eventually(lambda: person.says("squeue -h --me -n here -t R -o %i"), lambda said: said.strip())
    return running.strip()


def test_who_has_no_job_there_is_refused_and_told_so(alice: Person) -> None:
    """Nor does a job elsewhere help."""
    alice.says("sbatch -Q -w compute-1 -o /dev/null --wrap 'sleep 600'")
    eventually(lambda: alice.says("squeue -h --me -t R -o %N"), lambda said: said == "compute-1\n")
    said = hop(alice, "echo in")
    assert said.code == 255
    assert said.out == ""
    assert "you have no active jobs on this node" in said.err


def test_a_session_is_of_the_job_and_in_the_shared_root(alice: Person) -> None:
    """Files, users and variables are those of a task; the job has the step that sessions belong to."""
    number = job(alice)
    alice.says("echo mine >note")
    script = "hostname; id; pwd; cat note; echo $SLURM_JOB_ID; squeue -h --me -o %i; ls -d /.penstock /root"
    said = hop(alice, script, QUIET)
    assert (said.code, said.err) == (0, "")
    expected = [NODE, alice.says("id").strip(), "/home/alice", "mine", number, number, "/.penstock", "/root"]
    assert said.out.splitlines() == expected
    assert f"{number}.extern" in alice.says(f"scontrol show step {number}")
    assert alice.says(f"{HOP} {QUIET} -tt {NODE} tty").startswith("/dev/pts/")
    assert alice.says(f"scp -q -o BatchMode=yes note {NODE}:copied && cat copied") == "mine\n"


def test_a_session_has_mounts_of_its_own_and_slurmd_keeps_its(alice: Person) -> None:
    """Seen as tasks see it: other people's jobs are not in Slurm's spool directory."""
    job(alice)
    mounts = ("readlink", "/proc/1/ns/mnt")
    before = alice.cluster.inside(POD, "cat", "/proc/1/mountinfo")
    said = hop(alice, "readlink /proc/self/ns/mnt; ls /var/spool/slurmd; ls /etc/penstock 2>&1; true")
    namespace, *shown = said.out.splitlines()
    assert namespace != alice.cluster.inside(POD, *mounts).strip()
    assert shown[0] == "conf-cache"
    assert "No such file" in shown[1]
    assert alice.cluster.inside(POD, "cat", "/proc/1/mountinfo") == before


@pytest.mark.parametrize("how", ["sbatch --parsable -o /dev/null --wrap 'sleep 600'", "salloc -Q --no-shell"])
def test_a_session_ends_with_its_job(alice: Person, how: str) -> None:
    """With all that it has started, also what has left it; and where the job has run nothing itself."""
    number = job(alice, how)
    assert hop(alice, "setsid sleep 611 >/dev/null 2>&1 & exit").code == 0
    alice.says(f"{HOP} {QUIET} -f {NODE} sleep 612 >/dev/null 2>&1")
    assert eventually(lambda: sleeping(alice.cluster), lambda found: len(found) == 2) == ["611", "612"]
    alice.says(f"scancel {number}")
    eventually(lambda: sleeping(alice.cluster), lambda found: not found)
    assert hop(alice, "echo in").code == 255


def sleeping(site: Site) -> list[str]:
    """What runs of sessions on the first worker."""
    said = site.inside(POD, "ps", "-eo", "args")
    return sorted(line.split()[1] for line in said.splitlines() if line.startswith("sleep 61"))


def test_of_several_jobs_one_has_the_session(alice: Person) -> None:
    """Whichever: there are no control groups to tell the newest by."""
    if alice.cluster.suite == "trixie":
        pytest.skip("pam_slurm_adopt of 24.11 refuses here whoever has two jobs (docs/shared-root.md)")
    alice.says(f"for n in 1 2; do sbatch -Q -n1 --mem=10 -w {NODE} -o /dev/null --wrap 'sleep 600'; done")
    running = "squeue -h --me -t R -o %i"
    numbers = eventually(lambda: alice.says(running).split(), lambda found: len(found) == 2)
    said = hop(alice, "echo $SLURM_JOB_ID")
    assert said.code == 0, said
    assert said.out.strip() in numbers


@pytest.fixture
def tenant(alice: Person) -> Iterator[Person]:
    """Somebody with the uid of a tenant and with a job on the node, whom nobody keeps from the login node."""
    cluster = alice.cluster
    made = f"useradd --uid {TENANT} --key UID_MAX={TENANT} --create-home --shell /bin/bash tina"
    root(cluster).says(f"id tina >/dev/null 2>&1 || {made}")
    tina = account(cluster, "tina")
    tina.says(KEY)
    has_class(cluster, "tenant")
    job(tina, "salloc -Q --no-shell")
    yield tina
    tina.says("scancel --me")
    has_class(cluster, "user")


def has_class(site: Site, name: str) -> None:
    """What the tenant's uid is from now on."""
    site.says("walls", "ranges", f"{TENANT}-{TENANT}={name}", "--directory", str(site.layout.state / "walls"))


def test_a_tenant_never_gets_in_not_even_with_a_job(tenant: Person) -> None:
    """Walls are for tasks. The same person with the same job gets in as soon as the uid is no tenant's."""
    said = hop(tenant, "echo in")
    assert (said.code, said.out) == (255, "")
    assert "no session on this node" in said.err
    has_class(tenant.cluster, "user")
    assert hop(tenant, "echo in").out == "in\n"


def test_without_policies_nobody_gets_in_but_root(alice: Person) -> None:
    """What cannot be decided is refused; root comes to repair it."""
    job(alice)
    admin = root(alice.cluster)
    admin.says(KEY)
    assert hop(admin, "id -u; ls -d /.penstock").out == "0\n/.penstock\n"
    place = alice.cluster.layout.state / "walls/ranges"
    away = place.rename(place.with_name("away"))
    try:
        said = hop(alice, "echo in")
        assert (said.code, said.out) == (255, "")
        assert 'there is no file "ranges"' in said.err
        assert hop(admin, "id -u").out == "0\n"
    finally:
        away.rename(place)
    assert hop(alice, "echo in").out == "in\n"


def test_host_keys_and_names_outlive_the_worker(alice: Person) -> None:
    """Nobody is warned of another key, and its name leads to the new one."""
    job(alice)
    assert hop(alice, "echo in").out == "in\n"
    before = alice.cluster.get("pods", POD)["metadata"]["uid"]
    alice.says("scancel --me")
    alice.cluster.says("delete", "pod", POD)
    alice.cluster.until("pods", POD, lambda one: is_ready(one) and one["metadata"]["uid"] != before)
    alice.cluster.until("nodesets", WORKERS, is_ready)
    eventually(lambda: alice.says(f"sinfo -h -n {NODE} -o %T"), lambda said: said == "idle\n")
    job(alice)
    assert hop(alice, "echo in", "-o StrictHostKeyChecking=yes").out == "in\n"


def test_sshd_comes_back_and_slurmd_is_what_the_container_is_about(alice: Person) -> None:
    """The end of sshd ends nothing else; that of slurmd ends the container, with slurmd's code."""
    job(alice)
    alice.cluster.inside(POD, "sh", "-c", "kill $(cat /run/sshd.pid)")
    assert eventually(lambda: hop(alice, "echo in").out, bool) == "in\n"
    assert status(alice.cluster.get("pods", POD))["restartCount"] == 0
    alice.says("scancel --me")
    eventually(lambda: alice.says("squeue -h --me"), lambda said: not said)
    (slurmd,) = alice.cluster.inside(POD, "ps", "-C", "slurmd", "-o", "pid=").split()
    alice.cluster.execute(POD, "kill", "-9", slurmd)
    again = alice.cluster.until("pods", POD, lambda one: is_ready(one) and status(one)["restartCount"] > 0)
    assert status(again)["lastState"]["terminated"]["exitCode"] == 137


def status(pod: Json) -> Json:
    """Of slurmd's container, the only one."""
    (found,) = pod["status"]["containerStatuses"]
    return dict(found)
