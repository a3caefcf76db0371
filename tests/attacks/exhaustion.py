"""Using up what others need: processes, memory, files, sizes."""

from tests.spank.walled import TENANT, Walled

from .ground import Won, inside, lines, on_node, perl, policy

MOST = 60  # processes of the tenant, on the whole node
TRIES = 400
FILES = 4000  # a directory of 1M has no place for as many
TERMINALS = 600


def a_fork_bomb(node: Walled) -> Won:
    """As many processes as one can have, and none more (T27)."""
    bomb = f"my $n = 0; while ($n < {TRIES}) {{ defined(my $p = fork) or last; $p or sleep 600; $n++ }} print $n"
    with policy(node, f"limit nproc {MOST}"):
        born = int(perl(node, bomb).strip())
    return [f"{born} processes"] if born >= MOST else []


def filling_memory(node: Walled) -> Won:
    """/tmp and /dev/shm hold as much as the policy says (T27)."""
    fill = "for d in /tmp /dev/shm; do head -c 8M /dev/zero >$d/full 2>/dev/null && echo filled $d; done"
    with policy(node, "tmp 2M", "shm 1M"):
        return lines(inside(node, fill))


def filling_with_empty_files(node: Walled) -> Won:
    """Files without a size cost the kernel's memory, too (T27)."""
    make = f'for my $d ("/tmp", "/dev/shm") {{ my $n = 0; $n++ while $n < {FILES} && open my $f, ">", "$d/$n";'
    make += f' print "$d holds {FILES} files\\n" if $n == {FILES} }}'
    with policy(node, "tmp 1M", "shm 1M"):
        return lines(perl(node, make))


def taking_all_terminals(node: Walled) -> Won:
    """The kernel has some thousands for everybody: the next one's step gets one all the same (T27)."""
    take = f'my @all; while (@all < {TERMINALS}) {{ open my $t, "+<", "/dev/ptmx" or last; push @all, $t }}'
    with policy(node, "limit nofile 4096"):
        taken = int(perl(node, f"{take} print scalar @all").strip())
    assert taken, "there are no terminals"
    return [f"{taken} terminals"] if taken == TERMINALS else []


def a_large_file(node: Walled) -> Won:
    """Output and data as large as the policy says (T27)."""
    fill = "trap '' XFSZ; head -c 4M /dev/zero >/data/large 2>/dev/null; stat -c %s /data/large"
    with policy(node, "limit fsize 1M"):
        job, path = node.submit(TENANT, "trap '' XFSZ; head -c 4M /dev/zero")
        node.ending(job)
        sizes = [int(inside(node, fill).strip()), on_node(node, path).stat().st_size]
    node.say("rm", "-f", f"/srv/{TENANT}/data/large", path)
    return [f"{size} bytes" for size in sizes if size > 1 << 20]


def limits_that_are_raised(node: Walled) -> Won:
    """What srun hands on of the submitting shell, and what a task asks for itself (T27)."""
    raises = "; ".join(f"ulimit {what} 2>/dev/null && echo raised {what}" for what in ("-n 4096", "-l 65536", "-c 99"))
    with policy(node, "limit nofile 64", "limit memlock 64K", "limit core 0"):
        return lines(inside(node, raises, "--propagate=ALL"))


EXHAUSTION = (
    a_fork_bomb,
    filling_memory,
    filling_with_empty_files,
    taking_all_terminals,
    a_large_file,
    limits_that_are_raised,
)
