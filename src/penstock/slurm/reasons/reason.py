"""What a reason is: Slurm's word, what it means, what to do about it, and who can."""

from dataclasses import dataclass
from enum import StrEnum


class Who(StrEnum):
    """Who can act on a reason."""

    USER = "user"
    ADMINISTRATOR = "administrator"
    NOBODY = "nobody"  # it passes by itself: wait


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a job waits or ended, for the person who owns it. `<job>` in a command stands for the job's number."""

    name: str
    meaning: str
    next_step: str
    who: Who
