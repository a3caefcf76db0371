"""The checker bites: what real Slurm refuses is reported in its own words, and only what it takes is passed."""

import pytest

from .slurm_parser import SlurmParser

CGROUP_CONF = "CgroupPlugin=disabled\n"
# A controller with dynamic nodes, no more.
SLURM_CONF = """\
ClusterName=lab
SlurmctldHost=ctl
SlurmUser=slurm
AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key
SlurmctldParameters=enable_configless
MaxNodeCount=1024
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/linux
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
SlurmctldPidFile=/run/slurmctld/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ReturnToService=2
SlurmdTimeout=60
SchedulerParameters=batch_sched_delay=0
NodeSet=compute Feature=compute
PartitionName=compute Nodes=compute Default=YES MaxTime=INFINITE State=UP
"""
ACCOUNTING = "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=acct.slurm.svc\n"
SLURMDBD_CONF = """\
AuthType=auth/slurm
AuthInfo=use_client_ids
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key
DbdHost=acct-0
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=mariadb.slurm.svc
StorageUser=slurm
StoragePass=secret
StorageLoc=slurm_acct_db
LogFile=/dev/null
PidFile=/run/slurmdbd/slurmdbd.pid
"""
TREE = """\
- topology: default
  cluster_default: true
  tree:
    switches: [{switch: root, children: rack1}, {switch: rack1, nodes: ""}]
"""


def findings(slurm: SlurmParser, more: str = "", **files: str) -> str:
    """Check the small configuration with more lines and more files (`gres_conf=` is gres.conf), as one text."""
    named = {name.replace("_", "."): content for name, content in files.items()}
    return "\n".join(slurm.check({"slurm.conf": SLURM_CONF + more, "cgroup.conf": CGROUP_CONF, **named}))


@pytest.mark.parametrize(
    "more",
    [
        pytest.param("", id="as it is"),
        pytest.param("SlurmctldDebug=quiet\nSlurmctldLogFile=/dev/stdout\n", id="a quiet log"),
        pytest.param("SlurmctldHost=ctl2(ctl2.slurm.svc)\n", id="a second controller that is away"),
        pytest.param("NodeName=n[1-99] NodeAddr=n[1-99].slurm.svc CPUs=2\n", id="static nodes with names"),
        pytest.param("NodeSet=foo Feature=foo\nPartitionName=foo Nodes=foo \n", id="a set without nodes, a last blank"),
        pytest.param(ACCOUNTING, id="accounting"),
        pytest.param(ACCOUNTING + "AccountingStorageEnforce=associations\nGresTypes=gpu\n", id="limits"),
        pytest.param(ACCOUNTING + "AccountingStorageTRES=gres/gpu\nGresTypes=gpu\n", id="a TRES of the database"),
    ],
)
def test_what_slurm_takes_is_passed(slurm: SlurmParser, more: str) -> None:
    assert findings(slurm, more) == ""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("FooBar=1\n", "Parsing error at unrecognized key: FooBar"),
        ("FooBar=1\nBarFoo=1\n", "Parsing error at unrecognized key: BarFoo"),
        ("this is garbage\n", 'Parse error in file /etc/slurm/slurm.conf line 24: "this is garbage"'),
        ("ClusterName=other\n", "ClusterName 1 specified more than once"),
        ("SlurmctldHost=ctl\n", "Duplicate SlurmctldHost records: ctl"),
        ("PartitionName=compute Nodes=ALL\n", "duplicate entry for partition compute"),
        ("PartitionName=foo Nodes=nosuch\n", "Invalid node names in partition foo"),
        ("PartitionName=foo Nodes=compute MaxTime=24h\n", 'Bad value "24h" for MaxTime'),
        ("PartitionName=foo Nodes=compute Foo=1\n", 'slurm.conf line 24: " Foo=1"'),
        ("SchedulerParameters=\n", "slurm.conf line 24"),
        ("PrologSlurmctld=/etc/slurm/nosuch.sh\n", "Invalid PrologSlurmctld(`/etc/slurm/nosuch.sh`)"),
        ("Include nosuch.conf\n", "cannot stat file /etc/slurm/nosuch.conf"),
        (ACCOUNTING + "FooBar=1\n", "Parsing error at unrecognized key: FooBar"),
        (ACCOUNTING + "PartitionName=foo Nodes=nosuch\n", "Invalid node names in partition foo"),
    ],
    ids=lambda text: text.split("\n")[0],
)
def test_what_slurm_refuses_is_told_in_its_words(slurm: SlurmParser, more: str, words: str) -> None:
    assert words in findings(slurm, more)


@pytest.mark.parametrize(
    ("name", "good", "bad", "words"),
    [
        ("cgroup_conf", "CgroupPlugin=disabled\n", "Bogus=1\n", "unrecognized key: Bogus"),
        ("gres_conf", "AutoDetect=off\nName=gpu File=/dev/dri/renderD[128-129]\n", "Name=gpu\nBogus=1\n", "Bogus"),
        ("plugstack_conf", "required /not/here.so a=b\n", "must x.so\n", 'Invalid option "must"'),
    ],
    ids=["cgroup.conf", "gres.conf", "plugstack.conf"],
)
def test_each_file_is_read_by_who_reads_it(slurm: SlurmParser, name: str, good: str, bad: str, words: str) -> None:
    gres = "GresTypes=gpu\n"
    assert findings(slurm, gres, **{name: good}) == ""
    assert words in findings(slurm, gres, **{name: bad})


def test_a_gres_conf_that_nobody_would_read_is_no_pass(slurm: SlurmParser) -> None:
    """Without GresTypes slurmd leaves the file alone."""
    assert "slurmd: ended" in findings(slurm, gres_conf="Name=gpu Count=1\n")


def test_slurmdbd_reads_its_own_file(slurm: SlurmParser) -> None:
    assert slurm.check({"slurmdbd.conf": SLURMDBD_CONF}) == []
    assert "unrecognized key: Foo" in slurm.check({"slurmdbd.conf": SLURMDBD_CONF + "Foo=1\n"})[0]
    assert "slurmdbd.conf line 14" in slurm.check({"slurmdbd.conf": SLURMDBD_CONF + "x y\n"})[0]


def test_a_file_that_no_program_reads_is_an_error_of_the_test(slurm: SlurmParser) -> None:
    with pytest.raises(ValueError, match=r"namespace\.yaml"):
        slurm.check({"namespace.yaml": ""})


def test_the_two_releases_differ_where_they_should(slurm: SlurmParser) -> None:
    """Metrics and topology.yaml came after 24.11, which does not know the one and does not read the other."""
    old = slurm.version.startswith("24.11")
    metrics = findings(slurm, "MetricsType=metrics/openmetrics\n")
    assert ("unrecognized key: MetricsType" in metrics) if old else metrics == ""
    assert findings(slurm, topology_yaml=TREE) == ""
    assert ("topology" in findings(slurm, topology_yaml="- topology: x\n  bogus: {}\n")) is not old
