"""What can go wrong between us and Slurm, by what the caller can do about it.

```
SlurmError
├── SlurmUnreachable     wait and try again; state is unknown
│   └── SlurmSilent      no answer at all, not even that there is none
├── SlurmRefused         the request is wrong: show its words to the person
│   └── SlurmNotFound    Slurm does not know what it names
└── SlurmConflict        busy, or changed meanwhile: read again, decide again
```
"""

from __future__ import annotations


class SlurmError(Exception):
    """Something went wrong between us and Slurm."""


class SlurmUnreachable(SlurmError):
    """slurmrestd or slurmctld did not answer: nothing may be assumed."""


class SlurmSilent(SlurmUnreachable):
    """slurmrestd did not answer in time, or broke off."""


class SlurmRefused(SlurmError):
    """Slurm understood and said no; the message is its own."""


class SlurmNotFound(SlurmRefused):
    """Slurm does not know the node, job or partition."""


class SlurmConflict(SlurmError):
    """The thing is busy, or not as the request assumed."""


# Numbers of slurm_errno.h, which are the same in 24.11 and 26.05.
_NOT_FOUND = frozenset({2000, 2017, 2018})  # partition, job id, node name
_DENIED = 1007  # "Protocol authentication error"
_CONFLICT = frozenset({2016, 2020})  # nodes are busy; a job "can not be altered now, try again later"
_TROUBLED = (range(1000, 2000), range(5000, 5100), range(7000, 7100))  # slurmctld, its protocol, the database
_UNSPECIFIED = -1  # what slurmrestd says when it could not find out: nothing may be assumed


def error_for(number: int, message: str) -> SlurmError:
    """The error that Slurm's number stands for."""
    if number == _DENIED:
        return SlurmRefused(f"{message}; check that both sides have the same JWT key and the same time")
    if number == _UNSPECIFIED or any(number in numbers for numbers in _TROUBLED):
        return SlurmUnreachable(message)
    if number in _CONFLICT:
        return SlurmConflict(message)
    return SlurmNotFound(message) if number in _NOT_FOUND else SlurmRefused(message)
