"""slurmdbd.conf: a Secret, for the database's password is in it."""

from __future__ import annotations

from penstock.api.accounting import Accounting
from penstock.render import names
from penstock.render.contract import V25_11, SlurmVersion
from penstock.render.files.slurm_conf import appended_sections
from penstock.slurm import conf
from penstock.slurm.conf import Section


def slurmdbd_conf(accounting: Accounting, *, password: bytes, version: SlurmVersion) -> str:
    """The whole file. Without a password the line is left out, and slurmdbd tries without one."""
    sections = [_general(accounting), _plugins(accounting, version), _storage(accounting, password), _logging()]
    return conf.document([*sections, *appended_sections(accounting.spec.extra_conf, sections)])


def _general(accounting: Accounting) -> Section:
    section = Section("GENERAL")
    section.add("DbdHost", f"{names.accounting(accounting)}-0")
    section.add("DbdPort", names.SLURMDBD_PORT)
    section.add("SlurmUser", "slurm")
    section.add("PidFile", "/run/slurmdbd/slurmdbd.pid")
    return section


def _plugins(accounting: Accounting, version: SlurmVersion) -> Section:
    section = Section("PLUGINS & PARAMETERS")
    options = ["jwt_key=/etc/slurm/jwt.key", *(["jwks=/etc/slurm/jwks.json"] if accounting.spec.jwks_key_ref else [])]
    section.add("AuthType", "auth/slurm")
    section.add("AuthAltTypes", "auth/jwt")
    section.add("AuthAltParameters", ",".join([*options, *(["use_jwt_client_ids"] if version >= V25_11 else [])]))
    section.add("AuthInfo", "use_client_ids")
    return section


def _storage(accounting: Accounting, password: bytes) -> Section:
    section, storage = Section("STORAGE"), accounting.spec.storage_config
    section.add("StorageType", "accounting_storage/mysql")
    if storage:
        section.add("StorageHost", storage.host)
        section.add("StoragePort", storage.port)
        section.add("StorageUser", storage.username)
        section.add("StorageLoc", storage.database)
        if password:
            key = storage.password_key_ref
            of = f'the password in key "{key.key}" of Secret "{key.name}"'
            section.lines.append(f"StoragePass={conf.password(password, of=of)}")
    return section


def _logging() -> Section:
    """To the container's own output, which -D gives beside any file."""
    section = Section("LOGGING")
    section.add("LogFile", "/dev/null")
    return section
