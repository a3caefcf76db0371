"""What stands in a kubeconfig file, read as it is. Reprs show names only: the rest is secret."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from penstock.cluster.errors import Misconfigured


class Cluster(msgspec.Struct, rename="kebab"):
    """Where a server is, and by what it is known."""

    server: str
    certificate_authority: str = ""
    certificate_authority_data: bytes = b""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class Variable(msgspec.Struct):
    """One variable of a plugin's environment."""

    name: str
    value: str


class Exec(msgspec.Struct, rename="camel"):
    """A program that makes credentials."""

    command: str
    api_version: str
    args: list[str] | None = None
    env: list[Variable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""

    def __repr__(self) -> str:
        return f"Exec({self.command!r}, ...)"


class User(msgspec.Struct, rename="kebab"):
    """How somebody makes themselves known."""

    client_certificate: str = ""
    client_certificate_data: bytes = b""
    client_key: str = ""
    client_key_data: bytes = b""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    exec: Exec | None = None
    # Known, and refused.
    as_: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] | None = None
    username: str = ""
    password: str = ""
    auth_provider: Any = None

    def __repr__(self) -> str:
        return "User(...)"


class Pointer(msgspec.Struct):
    """A context: who, where."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(msgspec.Struct):
    """A cluster with its name."""

    name: str
    cluster: Cluster
    home: Path = Path()
    """The directory of the file; paths are relative to it."""


class NamedUser(msgspec.Struct):
    """A user with their name."""

    name: str
    user: User
    home: Path = Path()


class NamedContext(msgspec.Struct):
    """A context with its name."""

    name: str
    context: Pointer


class File(msgspec.Struct, rename="kebab"):
    """One kubeconfig file."""

    current_context: str = ""
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None

    @classmethod
    def read(cls, path: Path) -> File:
        """A kubeconfig file, or `Misconfigured`."""
        try:
            file = msgspec.yaml.decode(path.read_bytes(), type=cls)
        except OSError as error:
            cure = "name one that can be read, by KUBECONFIG or --kubeconfig FILE"
            raise Misconfigured(f"kubeconfig {path}: {error.strerror}; {cure}") from None
        except msgspec.ValidationError as error:
            raise Misconfigured(f"{path}: {error}") from None
        except msgspec.DecodeError as error:
            # YAML's own words would quote the line, and lines here hold secrets.
            line = re.search(r"line (\d+)", str(error))
            raise Misconfigured(f"{path}: not YAML{f', near line {line[1]}' if line else ''}") from None
        for entry in (*(file.clusters or ()), *(file.users or ())):
            entry.home = path.parent
        return file
