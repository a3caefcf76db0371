"""What a worker's pod tells Slurm before it ends: that its node is down. slurmd itself does not sign off.

Without that slurmctld would miss the node after a minute only. Slurm wants a reason with it, and the new one takes the
place of the old. But the reason of a drain is somebody's word, and may be all that tells why the node is drained: it is
read right before, and given again as it was. Whoever cannot be asked is told nothing, for that might be lost.

Works with any sh, in our images and in Slinky's. Values come by arguments and stay values: none becomes text of the
script.
"""

from __future__ import annotations

from penstock.api.objects import Json

REASON = "slurm-operator: the worker's pod ends"
"""For a node that has no reason of its own; Slinky's prefix, for whoever looks for it."""
_SECONDS = "5"
"""For each of the two questions; a pod has 30 to end in."""
_SCRIPT = """\
seconds=$1 reason=$2 node=${3:-$(hostname -s)}
line='
'
shown=$(timeout "$seconds" scontrol show node "$node") || exit
state=${shown#*"$line   State="}
case ${state%% *} in
DOWN*) exit 0 ;;
*+DRAIN* | *+FAIL*)
    rest=${shown#*"$line   Reason="}
    if [ "$rest" != "$shown" ]; then
        shown=${rest%%"$line"*}
        rest=${rest#"$shown"}
        reason=${shown% [[]*@*]}
        while [ "$rest" != "${rest#"$line          "}" ]; do
            rest=${rest#"$line          "}
            shown=${rest%%"$line"*}
            rest=${rest#"$shown"} reason=$reason$line$shown
        done
    fi
    ;;
esac
exec timeout "$seconds" scontrol update "NodeName=$node" State=DOWN "Reason=\\"$reason\\""
"""
"""`scontrol show node` has a line per field, indented by three blanks. `Reason=words [user@time]` comes before all else
that people may write, and further lines of it are indented by ten. scontrol takes one pair of quotes off a reason."""


def pre_stop(slurm_node: str | None) -> Json:
    """The hook of a worker; where nobody knows the node's name beforehand, it is the pod's host name."""
    command = ["/usr/bin/sh", "-c", _SCRIPT, "last-words", _SECONDS, REASON, *([slurm_node] if slurm_node else [])]
    return {"lifecycle": {"preStop": {"exec": {"command": command}}}}
