"""What a tenant says: options, variables, names. None of it becomes a mount, a program, a path or a line of a log."""

import json
import re
import subprocess
import sys

from tests.spank.walled import DIGEST, TENANT, Walled

from .ground import SECRETS, TRIED, Won, canaries, inside, lines, on_node, refused

SHOUT = ["bash", "-c", f"{SECRETS}; echo {TRIED}"]
FORGED = "[2026-01-01T00:00:00.000] error: forged"


def mounts_by_option(node: Walled) -> Won:
    """Mounts, and what would slip in between them (T3)."""
    values = ("/srv:/mnt", f"/srv/{TENANT}/data:/data,/srv:/mnt", "/srv/canary:/mnt:ro+rbind", "/srv/../srv:/mnt")
    return [won for value in values for won in refused(node, 20, "srun", f"--container-mounts={value}", *SHOUT)]


def programs_in_options(node: Walled) -> Won:
    """What a shell would run, wherever a word of the tenant's came to lie in its text (T4)."""
    mark = "/tmp/shell-ran"
    node.say("rm", "-f", mark)
    tricks = (
        f"$(touch {mark})",
        f"`touch {mark}`",
        f'";touch {mark};"',
        f"'; touch {mark} #",
        f"${{IFS}}|touch {mark}",
    )
    for trick in tricks:
        for form in ("IMAGE", "MOUNTS", "WORKDIR", "NAME", "SAVE", "ENV"):
            given = [f"PYXIS_CONTAINER_IMAGE={DIGEST}", f"PYXIS_CONTAINER_{form}=/{trick}"]
            ended = node.run("env", *given, "srun", "true", uid=TENANT)
            assert "(W0" in ended.stderr, ended
    return ["a shell ran a word"] if on_node(node, mark).exists() else []


def other_options(node: Walled) -> Won:
    """Powers that only a policy gives (T21)."""
    options = ("--container-remap-root", "--container-writable", "--container-mount-home", "--container-save=/data/x")
    return [won for option in options for won in refused(node, 20, "srun", option, *SHOUT)]


def a_container_by_name(node: Walled) -> Won:
    """A container of an earlier step, or of another job (T25)."""
    names = ("mine", "other:exec", "pyxis_1.0:auto", "x:create")
    return [won for name in names for won in refused(node, 20, "srun", f"--container-name={name}", *SHOUT)]


def a_container_that_is_saved(node: Walled) -> Won:
    """A file that somebody else would write for the tenant (T26)."""
    paths = ("/data/saved.sqsh", "/tmp/saved.sqsh", "/etc/penstock/walls/uid-1")
    won = [won for path in paths for won in refused(node, 20, "srun", f"--container-save={path}", *SHOUT)]
    return won + [path for path in paths[1:] if on_node(node, path).exists()]


def an_image_by_path(node: Walled) -> Won:
    """An image that nobody granted: the node itself, one's own files, another's digest (T5, T24)."""
    images = ("/", f"/srv/{TENANT}/data", "./x.sqsh", "debian:latest", "sha256:" + "b" * 64)
    return [won for image in images for won in refused(node, 30, "srun", f"--container-image={image}", *SHOUT)]


def variables_of_pyxis(node: Walled) -> Won:
    """The same as options, by variables that nodes read (T7)."""
    image = f"PYXIS_CONTAINER_IMAGE={DIGEST}"
    spank = "SLURM_SPANK__SLURM_SPANK_OPTION_penstock_container_"
    tries = (
        (20, image, "PYXIS_CONTAINER_MOUNTS=/srv:/mnt"),
        (20, image, "PYXIS_CONTAINER_NAME=mine"),
        (20, image, "PYXIS_CONTAINER_SAVE=/data/x"),
        (30, "PYXIS_CONTAINER_IMAGE=/"),
        (20, f"{spank}mounts=/srv:/mnt"),
        (20, f"{spank}remap_root="),
        (30, f"{spank}image=/"),
    )
    return [won for code, *given in tries for won in refused(node, code, "env", *given, "srun", *SHOUT)]


def variables_of_enroot(node: Walled) -> Won:
    """Where enroot would look for hooks and settings (T6)."""
    node.write(f"/srv/{TENANT}/data/hook.sh", "#!/bin/sh\ntouch /tmp/hook-ran\n", mode="0755")
    place = f"/srv/{TENANT}/data"
    names = ("ENROOT_CONFIG_PATH", "ENROOT_DATA_PATH", "ENROOT_SYSCONF_PATH", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")
    given = [f"{name}={place}" for name in names]
    return _seen(node, [*given, "ENROOT_MOUNT_HOME=y", "ENROOT_REMAP_ROOT=y"]) + (
        ["a hook ran"] if on_node(node, "/tmp/hook-ran").exists() else []
    )


def variables_that_change_programs(node: Walled) -> Won:
    """What shells and loaders obey, tokens, and what Slurm's own programs believe (T18)."""
    node.write(f"/srv/{TENANT}/data/evil", "echo sourced\n", mode="0755")
    given = [
        "LD_PRELOAD=/data/x.so", "LD_LIBRARY_PATH=/data", "BASH_ENV=/data/evil", "ENV=/data/evil", "IFS=x",
        "BASH_FUNC_ls%%=() { echo sourced; }", "PERL5LIB=/data", "PYTHONPATH=/data", "SLURM_JWT=token",
        "SLURM_CONF=/data/slurm.conf", "SLURM_SPANK_X=1", "SPANK_X=1", "AWS_SECRET_ACCESS_KEY=1",
    ]  # fmt: skip
    return _seen(node, given)


def _seen(node: Walled, given: list[str]) -> Won:
    """Which variables of those arrive in a task, and what they did."""
    ended = node.run("srun", f"--export=ALL,{','.join(given)}", "bash", "-c", f"env; echo {TRIED}", uid=TENANT)
    assert TRIED in ended.stdout, ended
    names = {variable.split("=")[0] for variable in given}
    return [line for line in lines(ended.stdout) if line.split("=")[0] in names or line == "sourced"]


# Of what execve() takes no library makes such a list, and neither does a shell.
_EXECUTE = """
import ctypes, json, sys
words, variables = json.load(sys.stdin)
array = lambda texts: (ctypes.c_char_p * (len(texts) + 1))(*(text.encode() for text in texts), None)
ctypes.CDLL(None).execve(b"/usr/bin/nsenter", array(words), array(variables))
"""


def variables_without_a_name(node: Walled) -> Won:
    """An environment as no shell would make it: nothing of it arrives, and nobody waits for ever (T18)."""
    odd = [
        "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
        "=x",
        "no-equals-sign",
        "A B=1",
        "N\nBASH_ENV=/data/evil",
        "X=\nLD_PRELOAD=/data/x.so",
    ]
    words = node.entering(TENANT, "srun", "bash", "-c", f"env; echo {TRIED}")
    ended = subprocess.run(
        [sys.executable, "-c", _EXECUTE], input=json.dumps([words, odd]),
        capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip
    assert TRIED in ended.stdout, ended
    return [line for line in lines(ended.stdout) if re.match(r"=|no-eq|A B|N$|X=|BASH_ENV|LD_PRELOAD", line)]


def names_in_the_log(node: Walled) -> Won:
    """A job's name, and a word that is refused, with ends of lines and escapes in them (T15)."""
    evil = f"x\n{FORGED}\r\x1b[2J\x1b]0;title\x07"
    before = len(node.log())
    for form in ("IMAGE", "MOUNTS", "WORKDIR", "NAME", "ENV"):
        given = [f"PYXIS_CONTAINER_IMAGE={DIGEST}", f"PYXIS_CONTAINER_{form}=/{evil}"]
        ended = node.run("env", *given, "srun", "-J", evil, "--comment", evil, "true", uid=TENANT)
        assert "is refused" in ended.stderr, ended
    text = node.log()[before:]
    assert text.count("is refused") == 5, text
    return [line for line in lines(text) if line.startswith(FORGED) or re.search(r"[\x00-\x08\x0b-\x1f]", line)]


def paths_in_options(node: Walled) -> Won:
    """A working directory that leads out (T3)."""
    ways = ("/data/../../../srv/canary", "/proc/self/root/srv/canary", "/proc/1/root/srv/canary", "/proc/1/cwd")
    won = []
    for way in ways:
        ended = node.run("srun", f"--container-workdir={way}", "bash", "-c", f"cat secret; {SECRETS}", uid=TENANT)
        won += canaries(ended.stdout)
        assert "is refused" in ended.stderr or "penstock:" in ended.stderr or won, ended
    return won


def directories_of_the_node(node: Walled) -> Won:
    """A job that begins in a directory of the node (T16)."""
    return [
        won
        for way in ("/srv/canary", "/etc/slurm", "/")
        for won in canaries(inside(node, f"cat secret; {SECRETS}", "-D", way))
    ]


WORDS = (
    mounts_by_option, programs_in_options, other_options, a_container_by_name, a_container_that_is_saved,
    an_image_by_path, variables_of_pyxis, variables_of_enroot, variables_that_change_programs,
    variables_without_a_name, names_in_the_log, paths_in_options, directories_of_the_node,
)  # fmt: skip
