"""Other people's processes, one's own in other rooms, and what /proc tells."""

from tests.spank.walled import OTHER, TENANT, Walled

from .ground import Won, inside, lines, perl, working

VICTIM = "export PASSWORD=of-the-victim; sleep 48{0} & echo ready; wait"
DIG = """
for p in /proc/[0-9]* /proc/self /proc/thread-self /proc/self/task/*; do
    for f in environ cmdline maps; do tr '\\0' '\\n' <$p/$f; done |
        grep -a -x -e .*of-the-victim -e '48[0-9][0-9]' -e '.*sbin/slurm[cd].*'
    cat $p/root/srv/canary/secret $p/cwd/secret; ls -d $p/root/node-mark
    for d in $p/fd/*; do cat $d/secret $d/../canary/secret $d/../../canary/secret $d/../../../srv/canary/secret; done
done 2>/dev/null
"""


def digging_in_proc(node: Walled) -> Won:
    """Variables, command lines, roots and descriptors of everybody there is (T10)."""
    with working(node, OTHER, VICTIM.format("11")), working(node, TENANT, VICTIM.format("12")):
        return lines(inside(node, DIG))


def tables_of_the_kernel(node: Walled) -> Won:
    """What else /proc and /sys would tell (T10)."""
    names = (
        "/proc/kcore /proc/kmsg /proc/keys /proc/sysrq-trigger /proc/sys /proc/modules /proc/net/tcp /proc/1 /sys/class"
    )
    return lines(inside(node, f"ls -d {names} 2>/dev/null"))


EVERY_NUMBER = """
for my $p (2 .. 32768) {
    next if $p == $$;
    print "signal $p\n" if kill 0, $p;
    print "seized $p\n" if syscall(101, 0x4206, $p, 0, 0) == 0;
    my $place = pack "QQ", 0, 16;
    print "read $p\n" if syscall(310, $p, $place, 1, $place, 1, 0) >= 0 or $! == 14;
}
"""


def ones_own_processes_elsewhere(node: Walled) -> Won:
    """The same uid in another room: nothing to be signalled, traced, or read (T2)."""
    with working(node, TENANT, VICTIM.format("13")):
        return lines(perl(node, EVERY_NUMBER))


def other_peoples_processes(node: Walled) -> Won:
    """Another tenant's, and whatever else runs on the node (T11)."""
    with working(node, OTHER, VICTIM.format("14")):
        return lines(perl(node, EVERY_NUMBER))


def the_keeper(node: Walled) -> Won:
    """Pid 1 of the room is root's: it cannot be killed, looked into, or stopped (T11)."""
    tries = 'print "signalled\\n" if kill("KILL", 1) or kill("STOP", 1);'
    look = 'print "read\\n" if open my $f, "<", "/proc/1/environ"; print "entered\\n" if opendir my $d, "/proc/1/root";'
    look += 'print "saw /proc/1\\n" if -e "/proc/1"'
    return lines(perl(node, tries + look))


# Slurm starts tasks one after the other: the first looks at those that are still slurmstepd.
SIBLING = """
my %won; my $end = time + 2;
while (time < $end) {
    last if $ENV{SLURM_PROCID};
    for my $p (2 .. 40) {
        next if $p == $$;
        $won{"node"}++ if -e "/proc/$p/root/node-mark";
        $won{"entered $p"}++ if open(F, "<", "/proc/$p/cmdline") && <F> =~ /slurmstepd/ && opendir(D, "/proc/$p/fd");
    }
}
print "$_\\n" for sort keys %won
"""


def tasks_that_are_not_born_yet(node: Walled) -> Won:
    """A task of the same step, before it has given up all that it must (T11)."""
    ended = node.run("srun", "-O", "-n12", "perl", "-e", SIBLING, uid=TENANT)
    assert ended.returncode == 0, ended
    return lines(ended.stdout)


def descriptors_that_are_open(node: Walled) -> Won:
    """Whatever is open beside stdin, stdout and stderr, and where it leads (T10)."""
    look = "for d in /proc/self/fd/*; do n=${d##*/}; [ $n -gt 2 ] && [ -e $d ] && readlink $d; done"
    ways = "for d in /proc/$$/fd/*; do cat $d/../../canary/secret $d/../canary/secret; done 2>/dev/null"
    return [line for line in lines(inside(node, f"{look}; {ways}")) if not line.startswith("/proc/")]


PROCESSES = (
    digging_in_proc, tables_of_the_kernel, ones_own_processes_elsewhere, other_peoples_processes, the_keeper,
    tasks_that_are_not_born_yet, descriptors_that_are_open,
)  # fmt: skip
