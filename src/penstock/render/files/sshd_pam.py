"""The PAM service of workers' sshd: who may come to a node, and what becomes of them there.

A service of its own, so that login nodes, which may have the same image, are not concerned. It comes with the pod and
not with the image: where PAM finds no file for a service it takes `other`, which lets everybody in. Where a module is
missing, nobody gets in.
"""

from __future__ import annotations

from penstock.render.files.sshd_config import PAM_SERVICE

# Whatever goes wrong refuses: a session that belongs to no job would outlive them all. In a service that it is not told
# the name of it does nothing, which lets everybody in. X11 is never Slurm's here.
_ADOPTING = f"service={PAM_SERVICE} action_generic_failure=deny action_adopt_failure=deny disable_x11=1"
_LINES = (
    "@include common-auth",
    # Tenants never, job or not; the same policies as for tasks.
    "account requisite pam_penstock.so",
    "account required pam_nologin.so",
    # A stack of its own: what ends it early must not skip what follows.
    "account substack common-account",
    f"account required pam_slurm_adopt.so {_ADOPTING}",
    # A pod that was started from somebody's session has theirs already, and may not change it.
    "session optional pam_loginuid.so",
    "session optional pam_keyinit.so force revoke",
    "session substack common-session",
    "session required pam_limits.so",
    "session required pam_env.so",
    "session required pam_env.so envfile=/etc/default/locale",
    # The last: from there on the session is in the shared root.
    "session required pam_penstock.so",
    "@include common-password",
)


def adopting() -> str:
    """The file."""
    return "".join(f"{line}\n" for line in _LINES)
