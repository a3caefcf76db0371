"""Why a job waits or ended: every reason Slurm 24.11 and 26.05 have, in plain words with a next step.

The texts are read by people who wait for a job, so each says what is the matter, what to do, and who can. Slurm's own
page lists the words; it does not say what to type.
"""

import re
from dataclasses import replace

from penstock.slurm.reasons.ended import ENDED
from penstock.slurm.reasons.held import HELD
from penstock.slurm.reasons.limits import limit
from penstock.slurm.reasons.policy import POLICY
from penstock.slurm.reasons.reason import Reason, Who
from penstock.slurm.reasons.waiting import WAITING

__all__ = ["Reason", "Who", "explain"]

_TABLE = {reason.name.casefold(): reason for reason in (*WAITING, *HELD, *POLICY, *ENDED)}

# "ReqNodeNotAvail, UnavailableNodes:n1": the word, then what slurmctld adds to it.
_WITH_DETAIL = re.compile(r"(?P<word>[^,(:]+)[,(:][\s_]*(?P<detail>.+?)\)?")


def explain(reason: str) -> Reason:
    """Explain a reason as squeue, scontrol or REST print it: `Priority`, `(Priority)`, `ReqNodeNotAvail, ...`."""
    text = _bare(reason)
    return _find(text) or _with_detail(text) or _unknown(text)


def _bare(reason: str) -> str:
    text = reason.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    return text or "None"


def _find(text: str) -> Reason | None:
    # squeue prints the blanks of a sentence as underscores.
    word = text.replace("_", " ").strip()
    return _TABLE.get(word.casefold()) or limit(word)


def _with_detail(text: str) -> Reason | None:
    match = _WITH_DETAIL.fullmatch(text)
    found = _find(match["word"]) if match else None
    if match is None or found is None:
        return None
    return replace(found, meaning=f"{found.meaning} Slurm adds: {match['detail']}.")


def _unknown(text: str) -> Reason:
    return Reason(
        text,
        f'Slurm gives the reason "{text}", which this version of Penstock does not know.',
        "Look at `scontrol show job <job>`, and let an administrator look into the log of slurmctld.",
        Who.ADMINISTRATOR,
    )
