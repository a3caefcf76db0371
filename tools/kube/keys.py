"""Keys, certificates and kubeconfigs of one cluster, fresh for every start.

Made by `openssl`, which every Debian has, so that the tool needs nothing but Python's standard library.
"""

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from steps import run

LOOPBACK = "127.0.0.1"
# Groups and names that Kubernetes gives rights to. The controller-manager acts for all its controllers at once here
# (with an account for each it starts 5 s later), so it may do everything.
CLIENTS = {
    "admin": "/O=system:masters/CN=admin",
    "controller-manager": "/O=system:masters/CN=system:kube-controller-manager",
    "scheduler": "/CN=system:kube-scheduler",
}
# openssl would read the machine's own configuration and add what that says.
_CONFIG = f"""\
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
extendedKeyUsage = serverAuth
keyUsage = critical, digitalSignature
subjectAltName = DNS:localhost, DNS:kubernetes.default.svc, IP:{LOOPBACK}, IP:10.96.0.1
[client]
extendedKeyUsage = clientAuth
keyUsage = critical, digitalSignature
"""


def make_keys(directory: Path) -> None:
    """Write all keys (`.key`) and certificates (`.crt`) of a cluster."""
    directory.mkdir(mode=0o700)
    (directory / "openssl.cnf").write_text(_CONFIG)
    certificate(directory, "ca", "/CN=penstock-test", "ca")
    leaves = [("server", "/CN=server", "server"), *((name, subject, "client") for name, subject in CLIENTS.items())]
    signer = ("-CA", f"{directory}/ca.crt", "-CAkey", f"{directory}/ca.key")
    with ThreadPoolExecutor() as pool:
        signed = [pool.submit(certificate, directory, *leaf, *signer) for leaf in leaves]
        for made in (*signed, pool.submit(token_key, directory / "service-accounts.key")):
            made.result()


def certificate(directory: Path, name: str, subject: str, section: str, *signer: str) -> None:
    """Make a key and the certificate for it, signed by itself or by the signer."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{directory}/{name}.key"]
    content = ["-config", f"{directory}/openssl.cnf", "-extensions", section, "-subj", subject, "-days", "365"]
    run(["openssl", "req", "-x509", *key, *content, "-out", f"{directory}/{name}.crt", *signer])


def token_key(path: Path) -> None:
    """Make the key that signs tokens, in the old form: of the newer one the API server reads no public key."""
    run(["openssl", "ecparam", "-genkey", "-noout", "-name", "prime256v1", "-out", str(path)])


def write_kubeconfig(path: Path, keys: Path, client: str, server: str) -> None:
    """Write a kubeconfig that needs no other file; JSON is YAML too."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "test", "cluster": {"server": server, "certificate-authority-data": encoded(keys / "ca.crt")}}
        ],
        "users": [
            {
                "name": client,
                "user": {
                    "client-certificate-data": encoded(keys / f"{client}.crt"),
                    "client-key-data": encoded(keys / f"{client}.key"),
                },
            }
        ],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": client}}],
        "current-context": "test",
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(config, indent=2))


def encoded(path: Path) -> str:
    """Read a file as base64."""
    return base64.b64encode(path.read_bytes()).decode()
