"""People get into a login node by their key; into a worker that runs sshd root alone, where nothing is known (CL-2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.api.loginset import LoginSet, LoginSetSpec
from penstock.api.nodeset import Ssh
from penstock.api.objects import ControllerReference, ObjectMeta, SecretKeySelector
from penstock.render.files.sshd_config import PAM_SERVICE, adopting_sshd_config, login_sshd_config
from penstock.render.files.sshd_pam import adopting

from .conftest import Images
from .room import Room

SSSD = SecretKeySelector(name="sssd", key="sssd.conf")
LOGIN = LoginSet(
    metadata=ObjectMeta(name="login"),
    spec=LoginSetSpec(controller_ref=ControllerReference(name="slurm"), sssd_conf_ref=SSSD),
)
OPTIONS = "-q -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i /root/key"
PEOPLE = """set -eu
ssh-keygen -q -t ed25519 -N '' -f /root/key
install -d -m 700 /root/.ssh; cp /root/key.pub /root/.ssh/authorized_keys
useradd --create-home --shell /bin/bash alice
install -d -m 700 -o alice -g alice ~alice/.ssh
install -m 600 -o alice -g alice /root/key.pub ~alice/.ssh/authorized_keys
"""
"""Root and alice, who have a key."""
VISIT = f"""
{PEOPLE}useradd --create-home --shell /bin/bash mallory
/usr/sbin/sshd -t
tini -s -- /usr/sbin/sshd -D -e 2>/root/log &
for _ in $(seq 200); do (: </dev/tcp/127.0.0.1/22) 2>/dev/null && break; sleep 0.05; done
ssh {OPTIONS} root@127.0.0.1 'echo root: $(id -un), $(umask)'
ssh {OPTIONS} -tt alice@127.0.0.1 'echo alice: $(id -un), $(pwd), $LANG, $(command -v sinfo), $(tty)' | tr -d '\\r'
ssh {OPTIONS} mallory@127.0.0.1 true || echo mallory: refused
echo 'put /etc/hosts brought' | sftp {OPTIONS} -b - alice@127.0.0.1 >/dev/null
echo sftp: $(stat -c %U ~alice/brought)
kill $!; wait $! || true; echo sshd: ended
"""


@pytest.fixture
def room(images: Images, tmp_path: Path) -> Room:
    """A room with sshd's configuration as we render it, without host keys, and with nothing in /run."""
    room = Room(images["login"], tmp_path)
    room.write("/etc/ssh/sshd_config", login_sshd_config(LOGIN))
    return room


@pytest.fixture
def worker(images: Images, tmp_path: Path) -> Room:
    """The same of a worker, without policies and without Slurm."""
    room = Room(images["worker"], tmp_path)
    room.write("/etc/ssh/sshd_config", adopting_sshd_config(Ssh(enabled=True, sssd_conf_ref=SSSD), None))
    room.write(f"/etc/pam.d/{PAM_SERVICE}", adopting())
    return room


def test_root_and_people_get_in_by_their_key(room: Room) -> None:
    said = room.run("/bin/bash", "-c", VISIT)
    assert said.splitlines() == [
        "root: root, 0022",
        "alice: alice, /home/alice, C.UTF-8, /usr/bin/sinfo, /dev/pts/0",
        "mallory: refused",
        "sftp: alice",
        "sshd: ended",
    ]
    log = room.inside("/root/log").read_text()
    assert "Accepted publickey for root" in log
    assert "couldn't" not in log.lower()
    assert "PAM" not in log


KNOCK = f"""
{PEOPLE}tini -s -- /usr/sbin/sshd -D -e 2>/root/log &
for _ in $(seq 200); do (: </dev/tcp/127.0.0.1/22) 2>/dev/null && break; sleep 0.05; done
ssh {OPTIONS} root@127.0.0.1 id -un
ssh {OPTIONS} alice@127.0.0.1 id -un || echo alice: no policies
install -d -m 700 /etc/penstock/walls
printf 'penstock-walls 1\n' >/etc/penstock/walls/ranges
printf 'penstock-walls 1\nclass admin\n' >/etc/penstock/walls/default
ssh {OPTIONS} alice@127.0.0.1 id -un || echo alice: no Slurm
kill $!; wait $! || true
"""


def test_a_worker_lets_nobody_in_but_root_where_nothing_is_known(worker: Room) -> None:
    """Neither policies nor Slurm: both modules are there, can be loaded, and refuse what they cannot decide."""
    said = worker.run("/bin/bash", "-c", KNOCK)
    assert said.splitlines() == ["root", "alice: no policies", "alice: no Slurm"]
    log = worker.inside("/root/log").read_text()
    assert "Access denied for user alice by PAM account configuration" in log
    assert "pam_slurm_adopt" in log  # without a slurm.conf it ends all of the connection
    assert "Accepted publickey for alice" not in log


def test_a_host_key_that_is_brought_along_is_kept(room: Room) -> None:
    """In login pods the operator's keys are mounted: people would be warned of another one."""
    said = room.run(
        "/bin/sh", "-c", "ssh-keygen -q -t ecdsa -N '' -f /etc/ssh/ssh_host_ecdsa_key; /usr/sbin/sshd -t; ls /etc/ssh"
    )
    assert [name for name in said.split() if name.startswith("ssh_host")] == [
        "ssh_host_ecdsa_key",
        "ssh_host_ecdsa_key.pub",
    ]


def test_two_containers_have_two_host_keys(images: Images, tmp_path: Path) -> None:
    show = "/usr/sbin/sshd -t; cat /etc/ssh/ssh_host_ed25519_key.pub"
    keys = {Room(images["worker"], tmp_path / name).run("/bin/sh", "-c", show) for name in ("one", "two")}
    assert len(keys) == 2


def test_what_a_person_expects_is_there(images: Images, tmp_path: Path) -> None:
    programs = "editor less make nano sbatch scancel sinfo squeue srun tmux vi"
    script = f"for program in {programs}; do command -v $program >/dev/null || echo $program; done; cat /etc/motd"
    said = Room(images["login"], tmp_path).run("/bin/bash", "-lc", script)
    assert said.startswith("Slurm login node: ")
