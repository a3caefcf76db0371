"""Mistakes that people make, each with the one thing that is to be said about it: field, what is wrong, how to mend it.

Where an API server has a say, a kube-apiserver 1.36 gave the same verdict when these were written.
"""

from penstock.api.objects import Json

from .builders import ABSENT, an_object, controller, node_set

LONG = "a" * 58
KINDS = "write one of Accounting, Controller, LoginSet, NodeSet, RestApi, Token"
QUANTITY = "write a number with a unit, for instance 500m, 4 or 100Gi"
DURATION = "write a number with a unit, for instance 90s, 30m or 1h30m"
NAME = "write lower-case letters, digits, - and ., beginning and ending with a letter or digit"
NAMESPACE = "write lower-case letters, digits and -, beginning and ending with a letter or digit"
LABEL = "write letters, digits, -, _ and ., beginning and ending with a letter or digit"
LABEL_KEY = "write letters, digits, -, _ and ., if need be after a prefix such as example.com/"


def _claims(*names: object) -> Json:
    return node_set(volumeClaimTemplates=[{"metadata": {"name": name}} for name in names])


def _storage(amount: object) -> Json:
    return controller(persistence={"resources": {"requests": {"storage": amount}}})


def _start(time: object) -> Json:
    return node_set(updateStrategy={"scheduledUpdate": {"startTime": time}})


def _partition(**fields: object) -> Json:
    return controller(partitions=[{"name": "all", "nodeSets": ["gpu"]} | fields])


def _named(**metadata: object) -> Json:
    value = node_set()
    value["metadata"] |= metadata
    return value


TYPES = [
    (node_set(replicas="three"), "spec.replicas", 'is "three"', "write a whole number"),
    (node_set(replicas="3"), "spec.replicas", 'is "3"', "take off the quotes: 3"),
    (node_set(replicas=1.5), "spec.replicas", "is 1.5", "write a whole number"),
    (node_set(replicas=True), "spec.replicas", "is true", "write a whole number"),
    (node_set(replicas=-1), "spec.replicas", "is -1", "write at least 0"),
    (node_set(replicas=2**31), "spec.replicas", "is 2147483648", "write at most 2147483647"),
    (node_set(replicas=2**64), "spec.replicas", f"is {2**64}, more than 64 bits hold", "write a smaller number"),
    (node_set(pinToNode="yes"), "spec.pinToNode", 'is "yes"', "take off the quotes: yes"),
    (node_set(pinToNode="maybe"), "spec.pinToNode", 'is "maybe"', "write true or false"),
    (node_set(pinToNode=[]), "spec.pinToNode", "is a list", "write true or false"),
    (node_set(slurmd="image"), "spec.slurmd", 'is "image"', "write a map"),
    (node_set(scalingMode="statefulset"), "spec.scalingMode", 'is "statefulset"', "write StatefulSet"),
    (node_set(scalingMode="Job"), "spec.scalingMode", 'is "Job"', "write one of StatefulSet, DaemonSet"),
    (node_set(volumeClaimTemplates={}), "spec.volumeClaimTemplates", "is a map", "write a list"),
    (_claims(""), "spec.volumeClaimTemplates[0].metadata.name", "is empty", "write a name"),
    (_claims("a", "a"), "spec.volumeClaimTemplates[1].metadata.name", 'repeats "a"', "give each claim its own name"),
    (controller(slurmKeyRef={"name": "a"}), "spec.slurmKeyRef.key", "is missing", "add key"),
    (controller(clusterName="x" * 41), "spec.clusterName", "has 41 characters", "write at most 40"),
    (controller(clusterName="a\n"), "spec.clusterName", r'is "a\n"', "write letters, digits, _ and -"),
    (controller(clusterName=7), "spec.clusterName", "is 7", 'put it in quotes: "7"'),
    (controller(clusterName=False), "spec.clusterName", "is false", 'put it in quotes: "false"'),
    (_storage(0.5), "spec.persistence.resources.requests.storage", "is 0.5", 'put it in quotes: "0.5"'),
    (_storage(True), "spec.persistence.resources.requests.storage", "is true", QUANTITY),
    (_storage("1Gi\n"), "spec.persistence.resources.requests.storage", r'is "1Gi\n"', QUANTITY),
    (node_set(drain={"timeout": 30}), "spec.drain.timeout", "is 30", DURATION),
    (_partition(nodeSets=[]), "spec.partitions[0].nodeSets", "has 0 items", "name at least 1"),
    (_partition(config=5), "spec.partitions[0].config", "is a whole number", "write text or a map"),
    (
        controller(partitions=[{"name": "a", "nodeSets": ["x"]}] * 2),
        "spec.partitions[1]",
        "repeats a",
        "give each its own",
    ),
    (
        _partition(config={"MaxTime": []}),
        "spec.partitions[0].config",
        "holds a list",
        "write true or false or a whole number or a number or text",
    ),
    (
        node_set(updateStrategy={"rollingUpdate": {"maxUnavailable": "many"}}),
        "spec.updateStrategy.rollingUpdate.maxUnavailable",
        'is "many"',
        "write a count or a percentage, for instance 1 or 25%",
    ),
    (
        _start("2026-11-15 08:00:00Z"),
        "spec.updateStrategy.scheduledUpdate.startTime",
        'is "2026-11-15 08:00:00Z"',
        "write an RFC 3339 time, for instance 2026-11-15T08:00:00Z",
    ),
    (
        _start("2026-02-30T08:00:00Z"),
        "spec.updateStrategy.scheduledUpdate.startTime",
        'is "2026-02-30T08:00:00Z", which no calendar has',
        "check the day and the hour",
    ),
    (
        node_set(drain={"timeout": "9999999h"}),
        "spec.drain.timeout",
        '"9999999h" is longer than 292 years',
        "write for instance 30m or 24h",
    ),
]
"""Values of the wrong type or size."""

MEANING = [
    (
        node_set(partition={"config": "Default=YES\n"}),
        "spec.partition.config",
        r'is "Default=YES\n"',
        "write it on one line, without a line break at its end (in YAML: >- instead of |)",
    ),
    (
        node_set(partition={"config": "MaxTime=24h"}),
        "spec.partition.config",
        'MaxTime "24h" is not a Slurm time',
        "write 24:00:00 (24 hours) or 1-00:00:00 (one day)",
    ),
    (
        node_set(partition={"config": "Nodes=a"}),
        "spec.partition.config",
        'partition of NodeSet "gpu" sets Nodes, which is made from the object itself',
        "take it out",
    ),
    (
        node_set(extraConf="Gres"),
        "spec.extraConf",
        'is "Gres"',
        "write Key=Value items with blanks between them, for instance Gres=gpu:4 Weight=10",
    ),
    (
        node_set(template={"spec": {"hostname": "GPU_"}}),
        "spec.template.spec.hostname",
        'is "GPU_"',
        "write lower-case letters, digits and -, for instance gpu-",
    ),
    (
        node_set(template={"spec": {"hostname": LONG}}, ordinalPadding=6),
        "spec.template.spec.hostname",
        f'node names from "{LONG}" get longer than 63 characters',
        "write a shorter one",
    ),
    (
        an_object("NodeSet", f"{LONG}aaaaa"),
        "metadata.name",
        f'node names from "{LONG}aaaaa-" get longer than 63 characters',
        "write a shorter one",
    ),
    (
        node_set(controllerRef={"name": "slinky", "namespace": "slurm"}),
        "spec.controllerRef.namespace",
        'is "slurm", but the object is in "default"',
        "put both into one namespace",
    ),
    (
        controller(topology=[{"name": "t", "flat": True, "blocks": [{"block": "b"}]}]),
        "spec.topology[0]",
        'topology "t" is not one kind',
        "give exactly one of tree, blocks, flat",
    ),
    (
        controller(extraConf="A=1\\"),
        "spec.extraConf",
        "extraConf ends in a backslash, which would join it with the next line",
        "take it out",
    ),
    (
        an_object("Accounting", storageConfig=ABSENT),
        "spec.storageConfig",
        "is missing",
        "name the database's host and passwordKeyRef",
    ),
]
"""Texts that Slurm or DNS would not take."""

FRAME = [
    (
        node_set() | {"apiVersion": "slinky.slurm.net/v1alpha1"},
        "apiVersion",
        'is "slinky.slurm.net/v1alpha1"',
        "write slinky.slurm.net/v1beta1",
    ),
    (node_set() | {"kind": "Nodeset"}, "kind", 'is "Nodeset"', "write NodeSet"),
    (node_set() | {"kind": "Job"}, "kind", 'is "Job"', KINDS),
    (node_set() | {"kind": ["NodeSet"]}, "kind", "is \"['NodeSet']\"", KINDS),
    (node_set() | {"metadata": {}}, "metadata.name", "is missing", "add name"),
    (node_set() | {"metadata": None}, "metadata.name", "is missing", "add name"),
    (node_set() | {"metadata": "gpu"}, "metadata", 'is "gpu"', "write a map"),
    (node_set() | {"spec": None}, "spec.controllerRef", "is missing", "add controllerRef"),
    (node_set() | {"spec": []}, "spec", "is a list", "write a map"),
    (_named(name="GPU"), "metadata.name", 'is "GPU"', NAME),
    (_named(name="a_b"), "metadata.name", 'is "a_b"', NAME),
    (_named(name="a..b"), "metadata.name", 'is "a..b"', NAME),
    (_named(name="a/../../b"), "metadata.name", 'is "a/../../b"', NAME),
    (_named(name="a\n"), "metadata.name", r'is "a\n"', NAME),
    (_named(namespace="a.b"), "metadata.namespace", 'is "a.b"', NAMESPACE),
    (_named(namespace="../.."), "metadata.namespace", 'is "../.."', NAMESPACE),
    (_named(namespace=5), "metadata.namespace", "is 5", 'put it in quotes: "5"'),
    (_named(labels={"a": True}), "metadata.labels.a", "is true", 'put it in quotes: "true"'),
    (_named(labels={"a": "b c"}), "metadata.labels.a", 'is "b c"', LABEL),
    (_named(labels={"a": "x" * 64}), "metadata.labels.a", "has 64 characters", "write at most 63"),
    (_named(labels={"a b": "c"}), "metadata.labels.a b", '"a b" cannot be a key', LABEL_KEY),
    (_named(labels={"X/a": "c"}), "metadata.labels.X/a", '"X/a" cannot be a key', LABEL_KEY),
    (_named(labels=[]), "metadata.labels", "is a list", "write a map"),
    (_named(annotations={"a": 5}), "metadata.annotations.a", "is 5", 'put it in quotes: "5"'),
    (_named(finalizers="x"), "metadata.finalizers", 'is "x"', "write a list"),
]
"""Kinds, names and labels that no API server takes."""
