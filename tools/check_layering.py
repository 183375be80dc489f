#!/usr/bin/env python3
"""Checks who includes whom. usage: check_layering.py ROOT | --self-test"""
import pathlib
import re
import sys
import tempfile

CORE = ["core/base", "core/data", "core/metrics", "core/optim", "core/games",
        "core/policies", "core/counterfactual", "core/losses",
        "core/aggregation", "core/learners"]
# Folder -> folders it may include, besides itself and the protos.
MAY_INCLUDE = {
    "core/base": [],
    "core/data": ["core/base"],
    "core/metrics": ["core/base", "core/data"],
    "core/optim": ["core/base", "core/data"],
    "core/games": ["core/base", "core/data", "core/metrics"],
    "core/policies": ["core/base", "core/data", "core/metrics", "core/games"],
    "core/counterfactual": ["core/base", "core/data", "core/metrics", "core/optim"],
    "core/losses": ["core/base", "core/data", "core/metrics", "core/optim",
                    "core/games", "core/counterfactual", "core/policies"],
    "core/aggregation": ["core/base", "core/data", "core/metrics", "core/optim",
                         "core/games", "core/policies"],
    "core/learners": CORE,
    "io": ["core/base", "core/data"],
    "process": ["core/base", "io"],
    "server": ["core/base", "core/data", "core/metrics", "core/games",
               "core/policies", "core/counterfactual", "core/aggregation",
               "io", "process"],
    "sidecar": ["core/base", "io", "process"],
    "trainer": CORE + ["io", "process"],
    "client": ["core/base", "core/data", "core/metrics", "core/games",
               "core/policies", "core/aggregation", "io", "process"],
}
# Pattern of an include -> folders that may have it.
RESTRICTED = [
    (re.compile(r"^(grpcpp?|grpc\+\+)/|\.grpc\.pb\.h$"), ["server", "client"]),
    (re.compile(r"^prometheus/"), ["process"]),
    # No files, sockets, clocks or threads in core.
    (re.compile(r"^(fstream|iostream|filesystem|thread|mutex|shared_mutex|atomic|future|"
                r"condition_variable|chrono|ctime|time\.h|pthread\.h|unistd\.h|fcntl\.h)$|"
                r"^(sys|netinet|arpa|absl/synchronization)/|^absl/time/clock\.h$"),
     ["io", "process", "server", "sidecar", "trainer", "client"]),
    (re.compile(r"^(tests|bench)/"), []),
]
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]')


def folder_of(path):
    parts = pathlib.PurePosixPath(path).parts
    if len(parts) < 2:
        return None
    name = "/".join(parts[:2]) if parts[0] == "core" else parts[0]
    return name if name in MAY_INCLUDE else None


def check_line(folder, included):
    other = folder_of(included)
    if other and other != folder and other not in MAY_INCLUDE[folder]:
        return f"{folder} may not include {other}"
    for pattern, allowed in RESTRICTED:
        if pattern.search(included) and folder not in allowed:
            return f"{folder} may not include <{included}>"
    return None


def violations(root):
    root = pathlib.Path(root)
    for top in sorted({name.split("/")[0] for name in MAY_INCLUDE}):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            relative = path.relative_to(root).as_posix()
            folder = folder_of(relative)
            if folder is None:
                yield f"{relative}:1: belongs to no known folder"
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                problem = match and check_line(folder, match.group(1))
                if problem:
                    yield f"{relative}:{number}: {problem}"


def self_test():
    cases = [
        ("core/data/a.h", '#include "core/base/check.h"', True),
        ("core/base/a.h", '#include "core/data/action.h"', False),
        ("server/a.cc", '#include "core/learners/poem.h"', False),
        ("server/a.cc", '#include "client/client.h"', False),
        ("trainer/a.cc", "#include <grpcpp/grpcpp.h>", False),
        ("client/a.cc", '#include "sortition/v1/ranking.grpc.pb.h"', True),
        ("io/a.cc", "#include <prometheus/counter.h>", False),
        ("core/optim/a.cc", "#include <thread>", False),
        ("core/base/a.cc", "#include <sys/socket.h>", False),
        ("core/learners/a.cc", '#include "absl/time/clock.h"', False),
        ("core/data/a.cc", '#include "io/files.h"', False),
        ("core/counterfactual/a.h", '#include "core/policies/linear_policy.h"', False),
        ("core/losses/a.cc", '#include "core/policies/linear_policy.h"', True),
        ("core/losses/a.cc", '#include "core/learners/one_slack.h"', False),
        ("io/a.cc", "#include <fcntl.h>", True),
        ("sidecar/a.cc", '#include "server/server.h"', False),
        ("trainer/a.cc", '#include "core/learners/learners.h"', True),
        ("server/a.cc", '#include "tests/testing/status_matchers.h"', False),
        ("core/unheard/a.cc", "#include <vector>", False),
    ]
    for path, line, good in cases:
        with tempfile.TemporaryDirectory() as root:
            file = pathlib.Path(root) / path
            file.parent.mkdir(parents=True)
            file.write_text(f"#pragma once\n{line}\n")
            found = list(violations(root))
            if good == bool(found):
                sys.exit(f"self-test: {path} with {line}: {found}")
            line_number = 2 if folder_of(path) else 1
            if found and not found[0].startswith(f"{path}:{line_number}: "):
                sys.exit(f"self-test: wrong place: {found[0]}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--self-test":
        return self_test()
    found = list(violations(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
