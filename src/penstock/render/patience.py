"""Waiting inside of pods without losing time: for a server that others need, and for a file that others make.

slurmd, sackd and slurmdbd ask once for whom they depend on and then sleep, for one second or for five, whatever happens
meanwhile. So they are started when that one can be reached (TR-4), or after a while all the same: a daemon of its own
accord goes on asking, and its log says for whom. That happens in the daemon's own container, for another one would take
longer to start than it saves. Kubernetes looks whether a container has started once a second at best, but then it may
wait for the answer.

Needs bash, which the images of ours have. Values come by arguments, for no value may become text of a script.
"""

from __future__ import annotations

from penstock.api.objects import Json
from penstock.render.contract import ImageContract

_REACHED = """\
exec {reached}< <(
    exec {never}<> <(:)
    pause=20
    until true <"/dev/tcp/$1/$2"; do
        printf -v seconds %d.%03d "$((pause / 1000))" "$((pause % 1000))"
        read -rt "$seconds" -u "$never"
        printf .
        ((pause > 2000 || (pause += pause / 16)))
    done 2>/dev/null
)
read -rt "$3" -u "$reached"
(($? <= 128)) || echo "$0: nobody answers at $1 port $2 after $3 seconds; it starts all the same" >&2
kill "$!" 2>/dev/null
wait "$!"
exec {reached}<&-
shift 3
exec "$@"
"""
"""Who looks ends when it has reached the server, which ends what is read here, or we have waited long enough; it writes
points so that it ends with its reader, too. A name server is asked each time, by thousands of workers perhaps: the
pauses grow, but by little."""
_THERE = """\
exec {never}<> <(:)
for ((look = 0; look < 45; look++)); do
    [ ! -e "$1" ] || exit 0
    read -rt 0.02 -u "$never"
done
exit 1
"""
_LONGEST = "30"
"""Seconds; half of what a startup probe grants."""


def command(contract: ImageContract, role: str, host: str, port: int) -> Json:
    """A daemon's command that waits for a server first; that of the image's own where it brings one."""
    found = contract.commands.get(role)
    if not found:
        return {}
    *before, program = found
    awaited = [argument(host.strip("[]")), str(port), _LONGEST]
    return {"command": [*before, "bash", "-c", argument(_REACHED), role, *awaited, program]}


def startup_probe(path: str, *, seconds: int) -> Json:
    """Holds back what comes after a container until it has made a file; each question waits for most of a second."""
    asked = {"exec": {"command": ["bash", "-c", argument(_THERE), "started", argument(path)]}}
    return {"startupProbe": asked | {"periodSeconds": 1, "timeoutSeconds": 5, "failureThreshold": seconds}}


def argument(text: str) -> str:
    """A text as a container's command has it: Kubernetes would expand $(NAME) there, and halves $$."""
    return text.replace("$(", "$$(")
