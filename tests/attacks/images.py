"""An image that was granted and means harm: files that raise whoever runs them, devices, mounts, hooks."""

import os
import struct
from pathlib import Path

from tests.spank.walled import IMAGE, Walled

from .ground import Won, inside, lines, on_node, policy

HOSTILE = "/images/hostile"
ROOTS = "only for root"
ALL_CAPABILITIES = struct.pack("<IIIII", 0x02000001, 0xFFFFFFFF, 0, 0xFFFFFFFF, 0)  # permitted and effective, version 2
FSTAB = "/srv /mnt none rbind,rw 0 0\n/ /mnt none x-create=dir,bind\n"
RC = '#!/bin/sh\ntouch /tmp/rc-ran\nmount --bind /proc/1/root/srv /mnt\nexec "$@"\n'
HOOKS = (
    "/etc/rc",
    "/etc/rc.local",
    "/etc/enroot/hooks.d/10-evil.sh",
    "/.enroot/hooks.d/10-evil.sh",
    "/docker-entrypoint.sh",
)
DEVICES = {"/memory": ("c", 1, 1), "/zero": ("c", 1, 5), "/disk": ("b", 7, 0), "/control": ("c", 10, 237)}


def build(node: Walled) -> None:
    """Make the image: the usual one, with all that on top."""
    work, root = node.mini.place / "workplace", node.mini.place / "workplace/root"
    layers = f"lowerdir={root}{IMAGE},upperdir={work}/hostile,workdir={work}/hostile-work"
    node.say("mkdir", HOSTILE)
    node.outside("mkdir", f"{work}/hostile", f"{work}/hostile-work")
    node.outside("mount", "-t", "overlay", "hostile", "-o", layers, f"{root}{HOSTILE}")
    node.write(f"{HOSTILE}/root-only", f"{ROOTS}\n")
    node.write(f"{HOSTILE}/etc/fstab", FSTAB, mode="0644")
    for path in HOOKS:
        node.say("mkdir", "-p", str(Path(f"{HOSTILE}{path}").parent))
        node.write(f"{HOSTILE}{path}", RC, mode="0755")
    for name, mode in (("rootcat", "4755"), ("groupcat", "2755"), ("capcat", "0755")):
        node.say("install", "-m", mode, f"{IMAGE}/usr/bin/cat", f"{HOSTILE}/{name}")
    os.setxattr(on_node(node, f"{HOSTILE}/capcat"), "security.capability", ALL_CAPABILITIES)
    for path, (kind, major, minor) in DEVICES.items():
        node.say("mknod", "-m", "0666", f"{HOSTILE}{path}", kind, str(major), str(minor))
    node.say("install", "-d", "-m", "0777", f"{HOSTILE}/free")
    node.write(f"{HOSTILE}/free/file", "of the image\n", mode="0666")
    node.say("ln", "-s", "/../../../srv", f"{HOSTILE}/data")
    node.say("sh", "-c", f"rmdir {HOSTILE}/mnt; ln -s /proc/1/root/srv {HOSTILE}/mnt")


def _hostile(node: Walled, script: str) -> str:
    with policy(node, instead=(IMAGE, HOSTILE)):
        return inside(node, script)


def mounts_of_an_image(node: Walled) -> Won:
    """/etc/fstab, and links where mounts go (T5)."""
    look = "cat /mnt/canary/secret /data/canary/secret 2>/dev/null"
    usual = "-e ' / ' -e ' /data ' -e ' /dev' -e ' /proc ' -e ' /tmp '"
    return lines(_hostile(node, f"{look}; grep -v {usual} /proc/self/mounts"))


def hooks_of_an_image(node: Walled) -> Won:
    """/etc/rc, and what other runtimes would run of it, inside or outside (T5)."""
    ran = ["a hook ran on the node"] if on_node(node, "/tmp/rc-ran").exists() else []
    return ran + lines(_hostile(node, "ls /tmp/rc-ran 2>/dev/null"))


def setuid_files_of_an_image(node: Walled) -> Won:
    """Files that make others root, or give them powers (T20)."""
    said = _hostile(
        node, "for cat in rootcat groupcat capcat; do /$cat /root-only 2>/dev/null; /$cat /proc/self/status; done"
    )
    raised = [line for line in lines(said) if line.startswith(("CapEff", "CapPrm")) and line.split()[1].strip("0")]
    ids = [line for line in lines(said) if line.startswith(("Uid", "Gid")) and "0" in line.split()[1:]]
    assert "CapEff" in said, said
    return [line for line in lines(said) if ROOTS in line] + raised + ids


def what_would_raise_programs(node: Walled) -> Won:
    """Each layer that such a file would have to pass, looked at by itself (T20)."""
    mounts = [line.split() for line in inside(node, "cat /proc/self/mountinfo").splitlines() if " - " in line]
    status = inside(node, "cat /proc/self/status")
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    open_to = [f"{parts[4]} without nosuid" for parts in mounts if "nosuid" not in parts[5].split(",")]
    assert mounts
    kinds = [
        f"Cap{kind}: {facts[f'Cap{kind}']}"
        for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")
        if facts[f"Cap{kind}"].strip("0")
    ]
    return open_to + kinds + ([] if facts["NoNewPrivs"] == "1" else ["NoNewPrivs: 0"])


def devices_of_an_image(node: Walled) -> Won:
    """Memory, disks, and the maker of loop devices, as files of the image (T20, T22)."""
    opens = "; ".join(f"(exec 3<{path}) 2>/dev/null && echo opened {path}" for path in DEVICES)
    return lines(_hostile(node, opens))


IMAGES = (
    mounts_of_an_image,
    hooks_of_an_image,
    setuid_files_of_an_image,
    what_would_raise_programs,
    devices_of_an_image,
)
