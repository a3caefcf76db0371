"""Ways to Slurm and to others, from inside: commands, sockets, keys, ports."""

from tests.spank.walled import Walled

from .ground import Won, beside, inside, lines, perl, script

ADDRESS = "10.255.0.1"  # of the test's machine, where slurmctld and slurmd listen
CONF = f"""
mkdir -p /tmp/slurm; printf '%s\\n' 'ClusterName=mini' 'SlurmctldHost=ctl({ADDRESS})' 'AuthType=auth/slurm' \
    'CredType=cred/slurm' 'SlurmUser=slurm' 'AuthInfo=use_client_ids' 'PluginDir=/usr/lib/x86_64-linux-gnu/slurm-wlm' \
    'NodeSet=compute Feature=compute' 'PartitionName=compute Nodes=compute Default=YES' >/tmp/slurm/slurm.conf
export SLURM_CONF=/tmp/slurm/slurm.conf
"""
LISTENER = """
use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0);
bind($s, pack_sockaddr_un("\\0penstock-canary")) or die; listen($s, 9);
print "ready\\n"; my $end = <STDIN>
"""


def commands_of_slurm(node: Walled) -> Won:
    """Submitting, looking, changing from inside, with a configuration of one's own and the image's programs (T12)."""
    # Not the job that tries: cancelled by itself, it would not come to say what it won.
    waiting = script(node, "#!/bin/bash\ntrue\n", "--hold", "-o", "/dev/null")
    tries = (
        "timeout 5 sbatch --parsable -o /dev/null --wrap true && echo submitted",
        "timeout 5 squeue -h && echo looked",
        "timeout 5 scontrol ping | grep UP",
        f"timeout 5 scancel {waiting} && echo cancelled",
    )
    ran = inside(node, "command -v sbatch squeue scontrol scancel | wc -l").strip()
    assert ran == "4", "the image has no programs of Slurm's"
    return lines(inside(node, f"{CONF}({' & '.join(tries)} & wait) 2>/dev/null"))


def keys_and_sockets(node: Walled) -> Won:
    """Whatever opens a way to be somebody at Slurm's (T13)."""
    kinds = ("slurm.key", "*.jwks", "jwt.key", "sack.socket*", "munge.socket*", "slurm.conf")
    names = " -o ".join(f"-name '{kind}'" for kind in kinds)
    return lines(
        inside(node, f"find / -xdev \\( {names} \\) 2>/dev/null; find / -type s -not -path '/proc/*' 2>/dev/null")
    )


def sockets_without_a_path(node: Walled) -> Won:
    """A socket of the node that lies in no directory (T13)."""
    knock = "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0);"
    knock += 'print "connected\\n" if connect($s, pack_sockaddr_un("\\0penstock-canary"))'
    with beside(node, "perl", "-e", f"$| = 1; {LISTENER}"):
        return lines(perl(node, knock))


def ports_of_slurm(node: Walled) -> Won:
    """slurmctld, slurmd, and whoever else answers on a network (T12, T23)."""
    places = [(ADDRESS, 6817), (ADDRESS, 7000), ("127.0.0.1", 6817), ("127.0.0.1", 7000), ("169.254.169.254", 80)]
    tries = [
        f"(timeout 2 bash -c ': </dev/tcp/{host}/{port}' 2>/dev/null && echo {host}:{port})" for host, port in places
    ]
    return lines(inside(node, " & ".join(tries) + " & wait"))


REACH = (commands_of_slurm, keys_and_sockets, sockets_without_a_path, ports_of_slurm)
