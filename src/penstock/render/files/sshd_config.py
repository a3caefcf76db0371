"""sshd_config of login pods and of workers with ssh, and root's authorized_keys."""

from __future__ import annotations

from penstock.api.loginset import LoginSet
from penstock.api.nodeset import Ssh
from penstock.slurm import conf
from penstock.slurm.conf import Section

HOST_KEYS = ("ssh_host_rsa_key", "ssh_host_ed25519_key", "ssh_host_ecdsa_key")
"""Host keys by their file names in /etc/ssh."""

_LOGIN = [
    "Include /etc/ssh/sshd_config.d/*.conf",
    "UsePAM yes",
    "X11Forwarding yes",
    "Subsystem sftp internal-sftp",
]
_WORKER = [
    "Include /etc/ssh/sshd_config.d/*.conf",
    "UsePAM yes",
    "Subsystem sftp internal-sftp",
    "AuthenticationMethods publickey password",
]


def login_sshd_config(login_set: LoginSet) -> str:
    """sshd_config of a LoginSet."""
    return _document(_LOGIN, login_set.spec.extra_sshd_config)


def worker_sshd_config(ssh: Ssh) -> str:
    """sshd_config of workers; their host keys are the image's affair."""
    return _document(_WORKER, ssh.extra_sshd_config)


def authorized_keys(login_set: LoginSet) -> str:
    """Root's authorized_keys."""
    keys = conf.appended(login_set.spec.root_ssh_authorized_keys or "", of="rootSshAuthorizedKeys")
    return "".join(f"{line}\n" for line in ["#", "### SLINKY ###", *keys])


def _document(lines: list[str], extra: str | None) -> str:
    appended = conf.appended(extra or "", of="extraSshdConfig")
    return conf.document([Section("GENERAL", list(lines)), Section("EXTRA CONFIG", appended)])
