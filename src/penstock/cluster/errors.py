"""What can go wrong at the port, by what the caller can do about it.

```
ClusterError
├── Unreachable          the cluster did not answer: state is unknown; wait and try again
│   ├── Overloaded       it asked us to wait; says how long
│   ├── Failing          it says that it cannot: show its words to a person, and try again
│   └── NotYet           what was asked for has not begun: wait and try again
├── NotFound             the object is not there
├── AlreadyExists        an object of that name is there
├── Conflict             somebody changed it meanwhile: read again, decide again
├── Expired              the history asked for is gone: list again
├── Forbidden            we may not: a person has to give the right
├── NotLeader            another process writes: leave it to that one
├── Misconfigured        what a person wrote about the cluster is wrong: they have to correct it
└── Refused              the request is wrong: show its words to the person
```
"""

from __future__ import annotations


class ClusterError(Exception):
    """Something went wrong between us and the cluster."""


class Unreachable(ClusterError):
    """The cluster did not answer, or broke off: whether the request took effect is unknown."""


class Overloaded(Unreachable):
    """The cluster asked us to come back later."""

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Failing(Unreachable):
    """The cluster answered that it failed: a webhook of somebody's is away, say. The message is its own."""


class NotYet(Unreachable):
    """What was asked for is there but has not begun, such as a container whose image is still on its way."""


class NotFound(ClusterError):
    """The object is not there."""


class AlreadyExists(ClusterError):
    """An object of that name is there already."""


class Conflict(ClusterError):
    """The object is not as the request assumed: another version, another uid, fields of another manager."""


class Expired(ClusterError):
    """The history behind this resource version is gone; list again."""


class Forbidden(ClusterError):
    """We are not known, or may not do this."""


class NotLeader(ClusterError):
    """We do not certainly hold the lease, so we do not write; whoever holds it does."""


class Misconfigured(ClusterError):
    """What a person wrote about the cluster cannot be used; they have to correct it."""


class Refused(ClusterError):
    """The request itself is wrong; the message is the cluster's own."""
