"""Paths: links that lead out, links that are swapped while a step starts, files that Slurm opens for a tenant."""

from tests.spank.walled import OTHER, TENANT, Walled

from .ground import SECRETS, TRIED, Won, canaries, inside, lines, on_node, policy, refused, script, working

HOME = f"/srv/{TENANT}"
STARTS = 25
# renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE), without an end: each name is a link half of the time.
SWAPPER = """
mkdir -p /data/swap/real; echo own >/data/swap/real/secret; ln -sfn /srv/canary /data/swap/link; echo ready
cd /data/swap; exec perl -e 'my ($one, $other) = ("real", "link"); syscall(316, -100, $one, -100, $other, 2) while 1'
"""


def links_in_the_data(node: Walled) -> Won:
    """Links of the tenant's own that lead to the node, seen from inside (T8)."""
    ways = (
        "/srv/canary",
        "../../srv/canary",
        "/proc/1/root/srv/canary",
        "/proc/self/root/srv/canary",
        "/../../../srv/canary",
    )
    links = "; ".join(f"ln -sfn {way} /data/way-{number}" for number, way in enumerate(ways))
    return canaries(inside(node, f"{links}; cat /data/way-*/secret /data/way-*/canary/secret 2>/dev/null"))


def a_link_in_place_of_a_source(node: Walled) -> Won:
    """A directory that the policy names, replaced by a link (T8)."""
    inside(node, "rm -rf /data/models; ln -s /srv/canary /data/models")
    with policy(node, f"mount {HOME}/data/models /mnt ro"):
        return refused(node, 31, "srun", "bash", "-c", f"{SECRETS}; echo {TRIED}")


def a_link_above_a_source(node: Walled) -> Won:
    """A directory on the way there (T8)."""
    inside(node, "rm -rf /data/way; ln -s /srv /data/way")
    with policy(node, f"mount {HOME}/data/way/canary /mnt ro"):
        return refused(node, 31, "srun", "bash", "-c", f"{SECRETS}; echo {TRIED}")


def links_that_are_swapped(node: Walled) -> Won:
    """Both names change places all the time: a step has the tenant's own directory, or is refused (T9)."""
    with working(node, TENANT, SWAPPER), policy(node, f"mount {HOME}/data/swap/real /mnt ro"):
        for _ in range(STARTS):
            ended = node.run("srun", "cat", "/mnt/secret", uid=TENANT)
            if won := canaries(ended.stdout):
                return won
            assert ended.stdout == "own\n" or "(W031)" in ended.stderr, ended
    return []


def links_where_views_go(node: Walled) -> Won:
    """A link where the policy shows something in the tenant's own directory: it leads nowhere but inside (T8)."""
    inside(node, "rm -rf /data/inner; ln -s /../../../../srv/canary /data/inner")
    before = node.say("find", "/srv/canary")
    with policy(node, "mount /srv/canary-free /data/inner rw"):
        node.say("install", "-d", "-m", "0777", "/srv/canary-free")
        ended = node.run("srun", "bash", "-c", f"touch /data/inner/x; {SECRETS}; echo {TRIED}", uid=TENANT)
    changed = [] if node.say("find", "/srv/canary") == before else ["something was made behind the link"]
    return canaries(ended.stdout) + changed


def output_elsewhere(node: Walled) -> Won:
    """Files that Slurm opens on the node, outside of the tenant's directory, in all ways to say so (T17)."""
    node.say("ln", "-sfn", "/tmp/led-away", f"{HOME}/out/link")
    node.say("ln", "-sfn", f"/srv/{OTHER}/out", f"{HOME}/out/linked")
    node.say("sh", "-c", f"rm -f {HOME}/data/*-ran; : >/tmp/hard; chown {TENANT} /tmp/hard; mkdir -p {HOME}/out/d")
    good = f"{HOME}/out/good"
    tries = {
        "another": ("-o", f"/srv/{OTHER}/out/x"),
        "pattern": ("-o", f"/srv/{OTHER}/out/%u-%j-%x", "-J", "name"),
        "dots": ("-o", f"{HOME}/out/d/../../../{OTHER}/out/dots"),
        "name": ("-o", f"{HOME}/out/%x", "-J", f"../../{OTHER}/out/by-name"),
        "led": ("-o", f"{HOME}/out/link"),
        "linked": ("-o", f"{HOME}/out/linked/x"),
        "memory": ("-o", "/dev/shm/x"),
        "error": ("-o", good, "-e", "/tmp/error-%j"),
        "appended": ("-o", "/tmp/hard", "--open-mode=append"),
        "device": ("-o", "/dev/full"),
        "zero": ("-o", good, "-i", "/dev/zero"),
        "input": ("-o", good, "-i", "/srv/canary/secret"),
        "data": ("-o", f"{HOME}/data/own-output"),
    }
    jobs = [
        script(node, f"#!/bin/bash\ntouch /data/{name}-ran\nhead -c 64\n", *options) for name, options in tries.items()
    ]
    for job in jobs:
        node.ending(job)
    return [f"ran: {name}" for name in tries if on_node(node, f"{HOME}/data/{name}-ran").exists()]


def output_of_srun(node: Walled) -> Won:
    """Patterns that srun leaves to the node (T17)."""
    node.say("sh", "-c", f"rm -f {HOME}/data/*-ran")
    tries = {
        "o": ("-o", "/tmp/srun-%t"),
        "e": ("-e", f"/srv/{OTHER}/out/%t"),
        "n": ("-o", f"/srv/{OTHER}/out/%N"),
        "labels": ("-l", "-o", "/tmp/labels-%t"),
        "labels-of-all": ("-l", "-n2", "-o", f"/srv/{OTHER}/out/labels-%N"),
        "labels-of-errors": ("-l", "-e", f"/srv/{OTHER}/out/labels-%t"),
    }
    for name, options in tries.items():
        node.run("srun", *options, "touch", f"/data/{name}-ran", uid=TENANT)
    return [f"ran: {name}" for name in tries if on_node(node, f"{HOME}/data/{name}-ran").exists()]


def a_pipe_as_output(node: Walled) -> Won:
    """A pipe with a name holds nobody: the step ends by itself, and the node serves others (T17, T27)."""
    inside(node, "rm -f /data/pipe; mkfifo /data/pipe")
    job = script(node, "#!/bin/bash\ntrue\n", "-o", f"{HOME}/data/pipe")
    try:
        node.ending(job)
    except AssertionError:
        return ["slurmstepd waits for ever"]
    finally:
        node.run("timeout", "3", "cat", f"{HOME}/data/pipe")
    assert node.say("sinfo", "-h", "-o", "%T") == "idle\n"
    return []


def writing_the_image(node: Walled) -> Won:
    """What others get, too: in places that are anybody's by their modes (T24)."""
    tries = (
        "touch /free/new; echo x >>/free/file; rm -f /free/file; mkdir /new; ln -s x /usr/bin/x; chmod 777 /free/file"
    )
    with policy(node, instead=("/images/base", "/images/hostile")):
        said = inside(node, f"{{ {tries}; }} 2>/dev/null; ls /free /new /usr/bin/x 2>/dev/null; cat /free/file")
    expected = ["/free:", "file", "of the image"]
    return [line for line in lines(said) if line not in expected] + ([] if "of the image" in said else ["gone"])


def what_was_written_before(node: Walled) -> Won:
    """What an earlier step wrote outside of its data is nowhere (T29)."""
    node.say("rm", "-f", "/tmp/left", "/dev/shm/left")
    inside(node, "echo left >/tmp/left; echo left >/dev/shm/left")
    said = inside(node, "cat /tmp/left /dev/shm/left 2>/dev/null")
    return lines(said) + [path for path in ("/tmp/left", "/dev/shm/left") if on_node(node, path).exists()]


FILES = (
    links_in_the_data, a_link_in_place_of_a_source, a_link_above_a_source, links_that_are_swapped,
    links_where_views_go, output_elsewhere, output_of_srun, a_pipe_as_output, writing_the_image,
    what_was_written_before,
)  # fmt: skip
