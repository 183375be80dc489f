#!/usr/bin/env python3
"""Lists what the programs are made of: an SBOM in the form SPDX 2.3 (JSON), from the libraries that
they are linked with, those of headers that are compiled in, and what dpkg knows about their
packages; or what an image is made of, from what it has itself.

usage: sbom.py --release VERSION --output FILE [--package DEB] PROGRAM ...
       sbom.py --release VERSION --output FILE --image ARCHIVE

The same programs and packages give the same bytes; SOURCE_DATE_EPOCH is the time.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import tarfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

PROGRAMS = ("sortition", "sortition-server", "sortition-sidecar", "sortition-trainer")
# Libraries of headers alone: the programs have their code in them.
HEADERS = ("libeigen3-dev", "librandom123-dev", "rapidjson-dev")
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
    """The short names of the licences of an installed package, as a comment."""
    path = Path("/usr/share/doc") / package.split(":")[0] / "copyright"
    return licences_in(path.read_text(errors="replace") if path.exists() else "")


def licences_in(text: str) -> str:
    """The short names of the licences in the text of a copyright file."""
    return ", ".join(sorted(set(re.findall(r"^License: *(\S.*?)\s*$", text, re.MULTILINE))))


def debian_package(shown: str, licences: str) -> dict[str, Any]:
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
        "licenseComments": licences,
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


def our_package(name: str, release: str, contents: bytes) -> dict[str, Any]:
    return {
        "SPDXID": spdx_id(name),
        "name": name,
        "versionInfo": release,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "2026 The Sortition authors",
        "checksums": [
            {
                "algorithm": "SHA256",
                "checksumValue": hashlib.sha256(contents).hexdigest(),
            }
        ],
    }


def relation(one: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def of_programs(programs: list[Path], release: str) -> tuple[list[Any], list[Any]]:
    """Packages and relations of programs on this machine."""
    linked = {program: libraries(program) for program in programs}
    owner = owners(set().union(*linked.values()))
    used = {program: {owner[path] for path in linked[program]} for program in programs}
    packages = [our_package(p.name, release, p.read_bytes()) for p in programs]
    for name in sorted(set().union(HEADERS, *used.values())):
        shown = run("dpkg-query", "--show", f"--showformat={FIELDS}", name)
        packages.append(debian_package(shown, licence_names(name)))
    relations = []
    for program in programs:
        for kind, names in (("DYNAMIC_LINK", used[program]), ("STATIC_LINK", HEADERS)):
            for name in sorted(names):
                other = spdx_id(f"debian-{name.split(':')[0]}")
                relations.append(relation(spdx_id(program.name), kind, other))
    return packages, relations


def of_deb(path: Path, release: str) -> tuple[list[Any], list[Any]]:
    """Packages and relations of a Debian package of ours, whatever the versions it will find."""
    name, depends = (
        run("dpkg-deb", "--field", str(path), f).strip() for f in ("Package", "Depends")
    )
    packages, relations = [our_package(name, release, path.read_bytes())], []
    for other in sorted(entry.split()[0] for entry in depends.split(", ")):
        packages.append(
            {
                "SPDXID": spdx_id(f"debian-{other}"),
                "name": other,
                "supplier": "Organization: Debian",
                "downloadLocation": "NOASSERTION",
                "filesAnalyzed": False,
            }
        )
        relations.append(relation(spdx_id(name), "DEPENDS_ON", packages[-1]["SPDXID"]))
    return packages, relations


def of_image(archive: Path, release: str) -> tuple[list[Any], list[Any]]:
    """Packages and relations of what an image has in its archive for `docker load`: our programs, and
    the packages in dpkg's list."""
    packages, status, licences = [], {}, {}
    with tarfile.open(archive) as outer:
        for layer in json.load(outer.extractfile("manifest.json"))[0]["Layers"]:
            with tarfile.open(fileobj=outer.extractfile(layer)) as files:
                for member in filter(tarfile.TarInfo.isreg, files):
                    path = Path("/") / member.name
                    read = files.extractfile(member).read
                    if path.parent == Path("/usr/local/bin") and path.name in PROGRAMS:
                        packages.append(our_package(path.name, release, read()))
                    elif path.parent == Path("/var/lib/dpkg/status.d"):
                        status[path.name] = read().decode()
                    elif path.name == "copyright":
                        licences[path.parent.name] = licences_in(read().decode(errors="replace"))
    ours = [package["SPDXID"] for package in packages]
    packages += [debian_package(shown_by(status[n]), licences.get(n, "")) for n in sorted(status)]
    relations = [
        relation(program, "DEPENDS_ON", package["SPDXID"])
        for program in ours
        for package in packages[len(ours) :]
    ]
    return packages, relations


def shown_by(status: str) -> str:
    """What FIELDS says, from the paragraph of a package in dpkg's list."""
    field = dict(re.findall(r"^([A-Z][\w-]*): (.*)$", status, re.MULTILINE))
    name, version = field["Package"], field["Version"]
    source, _, source_version = field.get("Source", name).partition(" ")
    source_version = source_version.strip("()") or version
    return "\t".join(
        (name, version, field["Architecture"], source, source_version, field["Maintainer"])
    )


def document(packages: list[Any], relations: list[Any], name: str) -> dict[str, Any]:
    ids = [package["SPDXID"] for package in packages]
    ours = [one for one in ids if not one.startswith("SPDXRef-debian-")]
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", one) for one in ours] + relations
    contents = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()
    time = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
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
    parser.add_argument("--package", type=Path, help="file of a Debian package that is in Python")
    parser.add_argument("--image", type=Path, help="archive of an image of one layer")
    parser.add_argument("programs", nargs="*", type=Path, help="files")
    given = parser.parse_args()
    if (given.image is None) == (not given.programs):
        parser.error("either --image or programs must be given")
    name = f"sortition-{given.release}"
    if given.image:
        packages, relations = of_image(given.image, given.release)
        name += "-image"
    else:
        packages, relations = of_programs(given.programs, given.release)
    if given.package:
        more, needs = of_deb(given.package, given.release)
        packages, relations = packages + more, relations + needs
    listed = document(packages, relations, name)
    given.output.write_text(json.dumps(listed, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
