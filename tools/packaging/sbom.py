#!/usr/bin/env python3
"""Lists what the programs are made of: an SBOM in the form SPDX 2.3 (JSON), from the libraries that
they are linked with and what dpkg knows about their packages.

usage: sbom.py --release VERSION --output FILE PROGRAM ...

The same programs and packages give the same bytes; SOURCE_DATE_EPOCH is the time.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

FIELDS = "${Package}\\t${Version}\\t${Architecture}\\t${source:Package}\\t${source:Version}\\t${Maintainer}"


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries(program: Path) -> set[Path]:
    """The files of the shared libraries that the program loads, their own ones included."""
    found = re.findall(r"(/\S+) \(0x", run("ldd", str(program)))
    return {Path(path).resolve() for path in found}


def owners(paths: set[Path]) -> dict[Path, str]:
    """The Debian package of each file, as name:architecture or name. Where /lib is a link to
    /usr/lib, dpkg knows some files by the one name and some by the other."""
    names = {str(path): path for path in paths}
    names |= {str(path).removeprefix("/usr"): path for path in paths}
    # One question for all: each reads the lists of all packages. It fails for names not found.
    command = ["dpkg-query", "--search", *sorted(names)]
    found = subprocess.run(command, capture_output=True, text=True).stdout
    packages = {}
    for line in found.splitlines():
        package, _, name = line.partition(": ")
        if name in names:
            packages[names[name]] = package.split(",")[0]
    missing = sorted(str(path) for path in paths - packages.keys())
    if missing:
        raise LookupError(f"no package has {', '.join(missing)}")
    return packages


def spdx_id(name: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def licence_names(package: str) -> str:
    """The short names of the licences in the package's copyright file, as a comment."""
    path = Path("/usr/share/doc") / package.split(":")[0] / "copyright"
    text = path.read_text(errors="replace") if path.exists() else ""
    return ", ".join(sorted(set(re.findall(r"^License: *(\S.*?)\s*$", text, re.MULTILINE))))


def debian_package(package: str, shown: str) -> dict[str, Any]:
    name, version, architecture, source, source_version, maintainer = shown.split("\t")
    return {
        "SPDXID": spdx_id(f"debian-{name}"),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "originator": "Person: " + maintainer,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "licenseComments": licence_names(package),
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch={architecture}"
                f"&upstream={source}@{source_version}",
            }
        ],
    }


def program_package(program: Path, release: str) -> dict[str, Any]:
    return {
        "SPDXID": spdx_id(program.name),
        "name": program.name,
        "versionInfo": release,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "2026 The Sortition authors",
        "checksums": [
            {
                "algorithm": "SHA256",
                "checksumValue": hashlib.sha256(program.read_bytes()).hexdigest(),
            }
        ],
    }


def relation(one: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def document(programs: list[Path], release: str) -> dict[str, Any]:
    linked = {program: libraries(program) for program in programs}
    owner = owners(set().union(*linked.values()))
    used = {program: {owner[path] for path in linked[program]} for program in programs}
    packages = [program_package(program, release) for program in programs]
    names = sorted(set().union(*used.values()))
    # One line for each, in the order of the names.
    shown = [run("dpkg-query", "--show", f"--showformat={FIELDS}", name) for name in names]
    packages += [debian_package(name, line) for name, line in zip(names, shown)]
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", spdx_id(p.name)) for p in programs]
    for program in programs:
        for name in sorted(used[program]):
            other = spdx_id(f"debian-{name.split(':')[0]}")
            relations.append(relation(spdx_id(program.name), "DYNAMIC_LINK", other))
    contents = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()
    time = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"sortition-{release}",
        "documentNamespace": f"urn:sha256:{contents}",
        "creationInfo": {
            "created": f"{time:%Y-%m-%dT%H:%M:%SZ}",
            "creators": ["Tool: sortition-sbom"],
        },
        "packages": packages,
        "relationships": relations,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--release", required=True, help="version of the programs")
    parser.add_argument("--output", type=Path, required=True, help="file")
    parser.add_argument("programs", nargs="+", type=Path, help="files")
    given = parser.parse_args()
    text = json.dumps(document(given.programs, given.release), indent=2, sort_keys=True)
    given.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
