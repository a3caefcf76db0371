"""The texts that fields may hold, as patterns that Python and the API server read alike, with a hint for people."""

from __future__ import annotations

QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,3}))?$"
DURATION = r"^(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)$"
PERCENT = r"^[0-9]{1,3}%$"
PROMETHEUS_DURATION = r"^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"
HOSTNAME_PREFIX = r"^([a-z0-9]([-a-z0-9.]*)?)?$"
CLUSTER_NAME = r"^[a-zA-Z0-9_-]+$"
SLURM_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
ABSOLUTE_PATH = r"^/[A-Za-z0-9._/-]+$"
PLAIN_PATH = r"^(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$"
NODE_PARAMETERS = r"^[ \t\r\n]*([A-Za-z][A-Za-z0-9_]*=[^ \t\r\n]+([ \t\r\n]+|$))*$"
ONE_LINE = r"^[^\n\r]*$"
TIME = r"^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$"
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
NAMESPACE = rf"^{_LABEL}$"
OBJECT_NAME = rf"^{_LABEL}(\.{_LABEL})*$"
LABEL_VALUE = r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"
LABEL_KEY = rf"^({_LABEL}(\.{_LABEL})*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$"
FILE_KEY = r"^[-._a-zA-Z0-9]+$"

HINTS = {
    QUANTITY: "write a number with a unit, for instance 500m, 4 or 100Gi",
    DURATION: "write a number with a unit, for instance 90s, 30m or 1h30m",
    PERCENT: "write a count or a percentage, for instance 1 or 25%",
    PROMETHEUS_DURATION: "write a Prometheus duration, for instance 30s or 1m",
    HOSTNAME_PREFIX: "write lower-case letters, digits and -, for instance gpu-",
    CLUSTER_NAME: "write letters, digits, _ and -",
    SLURM_NAME: "write letters, digits, _, - and ., beginning with a letter or digit",
    ABSOLUTE_PATH: "write an absolute path, for instance /mnt/shared-root",
    PLAIN_PATH: "write an absolute path without . and .. and without a slash at its end, for instance /mnt/shared-root",
    NODE_PARAMETERS: "write Key=Value items with blanks between them, for instance Gres=gpu:4 Weight=10",
    ONE_LINE: "write it on one line, without a line break at its end (in YAML: >- instead of |)",
    TIME: "write an RFC 3339 time, for instance 2026-11-15T08:00:00Z",
    NAMESPACE: "write lower-case letters, digits and -, beginning and ending with a letter or digit",
    OBJECT_NAME: "write lower-case letters, digits, - and ., beginning and ending with a letter or digit",
    LABEL_VALUE: "write letters, digits, -, _ and ., beginning and ending with a letter or digit",
    LABEL_KEY: "write letters, digits, -, _ and ., if need be after a prefix such as example.com/",
    FILE_KEY: "write letters, digits, -, _ and .",
}
