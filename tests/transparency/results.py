"""What a case came to on one side, without what differs between two runs of the same thing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .sides import HOME, Side

PRELUDE = Path(__file__).with_name("prelude.sh").read_text()
JOB = re.compile(r"(?<!\d)70\d{4}(?!\d)")
# Numbers of processes and ports, moments, and a job's second name: Slurm makes them anew each time.
VARIABLES = r"_PID|_PORT|_SLUID|_TIME|_COMM_HOST|_RANDOM|TMPDIR|SSH_[A-Z]+|COOKIE|PMI[A-Z0-9_]*"
PASSING = (
    (re.compile(r"^\w+: (?:Pending job allocation|job) \d+(?: queued .*| has been allocated .*)?\n", re.MULTILINE), ""),
    # Said when something took a moment: the processor of the step before was not free yet, a node not ready.
    (re.compile(r"^srun: (?:Job \d+ step creation|Step created for) .*\n", re.MULTILINE), ""),
    (re.compile(r"^salloc: (?:Waiting for resource configuration|Nodes \S+ are ready for job)\n", re.MULTILINE), ""),
    # Said when slurmctld's word of the end comes before salloc has gone.
    (re.compile(r"^salloc: Job allocation \d+ has been revoked\.\n", re.MULTILINE), ""),
    # srun says the one or the other, by whose word of the end comes first: slurmctld's or slurmstepd's.
    (re.compile(r"^srun: (?:Force Terminated \w+=\S+|Job step aborted: Waiting up to .*)\n", re.MULTILINE), ""),
    # scancel asks once more when slurmctld is busy, and the step may have ended by then.
    (re.compile(r"^scancel: error: Kill job error on job step id \S+ Invalid job id specified\n", re.MULTILINE), ""),
    (re.compile(rf"(\w*(?:{VARIABLES})=)\S+"), r"\1*"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?"), "TIME"),
    (re.compile(r"\bw[12]\b"), "NODE"),  # whichever has nothing to tidy up just now
    (re.compile(r"/dev/pts/\d+"), "/dev/pts/N"),
    (re.compile(r"/proc/\d+/"), "/proc/N/"),
    (re.compile(r"/tmp/penstock-mini-\w+/workplace/root"), ""),  # where this machine has the nodes' root
    # slurmstepd says it for each signal: a second one comes from srun, unless the step has ended by then.
    (re.compile(r"^(.*error: \*\*\* (?:JOB|STEP) .* CANCELLED .*\n)(?=(?:.*\n)*?\1)", re.MULTILINE), ""),
)
FILES = """\
find "$1" -mindepth 1 | LC_ALL=C sort | while read -r path; do
    stat -c "== %n %A %U %G" "$path"; [ ! -f "$path" ] || cat "$path"
done
"""


@dataclass(frozen=True, slots=True)
class Case:
    """What somebody does."""

    name: str
    script: str
    unordered: bool = False
    """Two write into one file at the same moment: the order of lines says nothing."""
    suites: tuple[str, ...] = ()
    """Where it can be done, if not everywhere."""


@dataclass(frozen=True, slots=True)
class Result:
    """All that somebody can have seen of it."""

    code: int
    out: str
    err: str
    files: str


def result(one: Side, case: Case) -> Result:
    """Run a case, and look at what it left behind."""
    directory = f"{HOME}/{case.name.replace(' ', '-').replace('/', '')}"
    ended = one.session(PRELUDE + case.script, directory)
    files = one.session(FILES, directory).stdout
    texts = [_lasting(text) for text in (ended.stdout, ended.stderr, files)]
    numbers = _numbers(texts)
    out, err, left = (JOB.sub(lambda found: numbers[found[0]], text) for text in texts)
    # srun and slurmstepd complain at the same moment.
    if case.unordered:
        out, left = _sorted(out), _sorted(left)
    return Result(ended.returncode, out, _sorted(err), left)


def _sorted(text: str) -> str:
    return "".join(sorted(text.splitlines(keepends=True)))


def _numbers(texts: Sequence[str]) -> Mapping[str, str]:
    """The jobs of a case, in their order: which is which must be the same everywhere."""
    found = sorted({number for text in texts for number in JOB.findall(text)})
    return {number: f"JOB{place}" for place, number in enumerate(found, 1)}


def _lasting(text: str) -> str:
    for passing, instead in PASSING:
        text = passing.sub(instead, text)
    return text
