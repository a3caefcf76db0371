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
PAM_SERVICE = "penstock-worker"
"""Who may come to a node, and into which job: `sshd_pam.py`."""


def host_key_files() -> list[str]:
    """Both halves of every host key."""
    return [name for key in HOST_KEYS for name in (key, f"{key}.pub")]


def login_sshd_config(login_set: LoginSet) -> str:
    """sshd_config of a LoginSet."""
    return _document(_LOGIN, login_set.spec.extra_sshd_config)


def worker_sshd_config(ssh: Ssh) -> str:
    """sshd_config of workers whose image has an sshd of its own; their host keys are the image's affair."""
    return _document(_WORKER, ssh.extra_sshd_config)


def adopting_sshd_config(ssh: Ssh, root: str | None) -> str:
    """sshd_config of workers whose sshd brings people into their jobs, and into the shared root, if there is one.

    What decides about that stands first, for sshd takes the first word that it finds. Keys are looked for before there
    is a session, so as the node sees them.
    """
    ours = ["UsePAM yes", f"PAMServiceName {PAM_SERVICE}", "PrintMotd no"]
    if root:
        own = [".ssh/authorized_keys", ".ssh/authorized_keys2"]
        keys = [*own, *(f"{root}%h/{name}" for name in own)]
        # Whoever has a root of their own need not have a shell that the node knows. This one is where they are anyway.
        ours += [f"AuthorizedKeysFile {' '.join(keys)}", "ChrootDirectory /"]
    rest = [line for line in _WORKER if line not in ours]
    return _document([*ours, *rest], ssh.extra_sshd_config)


def authorized_keys(login_set: LoginSet) -> str:
    """Root's authorized_keys."""
    keys = conf.appended(login_set.spec.root_ssh_authorized_keys or "", of="rootSshAuthorizedKeys")
    return "".join(f"{line}\n" for line in ["#", "### SLINKY ###", *keys])


def _document(lines: list[str], extra: str | None) -> str:
    appended = conf.appended(extra or "", of="extraSshdConfig")
    return conf.document([Section("GENERAL", list(lines)), Section("EXTRA CONFIG", appended)])
