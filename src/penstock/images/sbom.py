"""The bill of materials: which packages and programs an image is made of, as SPDX says it, for scanners and lawyers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from penstock.images.library import Image
from penstock.images.packages import Package
from penstock.images.shelf import Program


def spdx(image: Image) -> dict[str, Any]:
    """An SPDX 2.3 document; the same image gives the same one."""
    created = datetime.fromtimestamp(int(image.built), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    listed = [
        *(_package(package, image.suite) for package in image.packages),
        *(_program(program) for program in image.programs),
    ]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": image.name,
        "documentNamespace": f"https://penstock.invalid/images/{image.digest.removeprefix('sha256:')}",
        "creationInfo": {"created": created, "creators": ["Tool: penstock"]},
        "packages": listed,
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": one["SPDXID"]}
            for one in listed
        ],
    }


def _package(package: Package, suite: str) -> dict[str, Any]:
    url = f"pkg:deb/debian/{quote(package.name)}@{quote(package.version)}?distro={quote(suite)}"
    return {
        "SPDXID": f"SPDXRef-{package.name.replace('+', '-plus')}",
        "name": package.name,
        "versionInfo": package.version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": url},
        ],
    }


def _program(program: Program) -> dict[str, Any]:
    """What no package brought: it was compiled for this image."""
    name = PurePosixPath(program.path).name
    return {
        "SPDXID": f"SPDXRef-program-{name}",
        "name": name,
        "versionInfo": program.version,
        "packageFileName": program.path,
        "supplier": "Organization: Penstock",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseDeclared": "Apache-2.0",
        "checksums": [{"algorithm": "SHA256", "checksumValue": program.digest.removeprefix("sha256:")}],
        "sourceInfo": f"compiled for this image of sources whose digest is {program.sources}",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:generic/{quote(name)}@{quote(program.version)}",
            },
        ],
    }
