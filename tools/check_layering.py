#!/usr/bin/env python3
"""Checks who includes whom. usage: check_layering.py ROOT | --self-test"""
import pathlib
import re
import sys
import tempfile

# Folder -> folders it may include, besides itself and the protos. A folder's
# rooms are folders of their own; "x/*" stands for x and all its rooms.
LEARNERS = "core/learners/"
BELOW_LEARNERS = ["core/base", "core/data", "core/metrics", "core/optim",
                  "core/games/*", "core/policies/*", "core/scoring", "core/counterfactual",
                  "core/losses", "core/aggregation"]
MAY_INCLUDE = {
    "core/base": [],
    "core/data": ["core/base"],
    "core/metrics": ["core/base", "core/data"],
    "core/features/schema": ["core/base"],
    "core/features/text": ["core/base"],
    "core/features/blocks": ["core/base", "core/data", "core/features/schema",
                             "core/features/text"],
    "core/features/drift": ["core/base", "core/features/blocks",
                            "core/features/schema"],
    "core/features/suggest": ["core/base", "core/features/blocks", "core/features/schema",
                              "core/features/text"],
    "core/features": ["core/base", "core/data", "core/features/*"],
    "core/optim": ["core/base"],
    "core/games/sampling": ["core/base"],
    "core/games/ranking": ["core/base", "core/optim"],
    "core/games/f_beta": ["core/base", "core/optim", "core/games/sampling"],
    "core/scoring": ["core/base", "core/data", "core/features"],
    "core/policies/distributions": ["core/base", "core/data", "core/games/*"],
    "core/policies": ["core/base", "core/data", "core/policies/*", "core/scoring"],
    "core/choices": ["core/base", "core/data", "core/policies/*"],
    "core/policies/marginals": ["core/base", "core/data", "core/policies/distributions"],
    "core/counterfactual": ["core/base", "core/data", "core/metrics", "core/optim"],
    "core/counterfactual/confidence": ["core/base", "core/counterfactual"],
    "core/counterfactual/evaluation": ["core/base", "core/optim", "core/counterfactual",
                                       "core/counterfactual/confidence"],
    "core/counterfactual/exploration": ["core/base", "core/counterfactual",
                                        "core/counterfactual/evaluation"],
    "core/counterfactual/rankings": ["core/base", "core/optim", "core/counterfactual",
                                     "core/counterfactual/confidence",
                                     "core/counterfactual/evaluation"],
    "core/counterfactual/reward_models": ["core/base"],
    "core/counterfactual/sequential": ["core/base", "core/counterfactual"],
    "core/losses": ["core/base", "core/data", "core/metrics", "core/optim",
                    "core/games/*", "core/counterfactual", "core/policies/*"],
    "core/aggregation": ["core/base", "core/data", "core/metrics", "core/optim",
                         "core/games/*", "core/policies/*"],
    "core/simulation": ["core/base", "core/clicks", "core/data"],
    "core/clicks": ["core/base", "core/data", "core/optim"],
    LEARNERS + "counterfactual": BELOW_LEARNERS,
    LEARNERS + "rankings": BELOW_LEARNERS + ["core/policies/marginals",
                                             LEARNERS + "counterfactual"],
    LEARNERS + "multilabel": BELOW_LEARNERS,
    LEARNERS + "labelled": BELOW_LEARNERS,
    LEARNERS + "games": BELOW_LEARNERS + [LEARNERS + "labelled"],
    LEARNERS + "hinge": BELOW_LEARNERS + [LEARNERS + "labelled"],
    LEARNERS + "classes": BELOW_LEARNERS + [LEARNERS + "labelled"],
    LEARNERS + "orders": BELOW_LEARNERS + [LEARNERS + "labelled", LEARNERS + "hinge"],
    LEARNERS + "trees": BELOW_LEARNERS + ["core/scoring", LEARNERS + "labelled",
                                          LEARNERS + "orders"],
    "core/learners": BELOW_LEARNERS + ["core/learners/*"],
    "io": ["core/base"],
    "io/segments": ["core/base", "core/data", "io"],
    "io/spool": ["core/base", "io", "io/segments"],
    "io/upkeep": ["core/base", "io", "io/segments"],
    "io/models": ["core/base", "core/choices", "core/features/schema", "core/policies",
                  "core/scoring", "io", "io/segments"],
    "io/datasets": ["core/base", "core/data", "io", "io/text"],
    "io/text": ["core/base", "io"],
    "io/trec": ["core/base", "io", "io/text"],
    "io/columns": ["core/base", "core/data", "core/features/schema",
                   "core/features/suggest", "core/features/text", "io", "io/text"],
    "io/scorers": ["core/base", "core/scoring", "io", "io/text"],
    "web": [],
    "process": ["core/base", "io", "process/http", "process/options"],
    "process/options": ["core/base", "io"],
    "process/drawing": [],
    "process/http": ["core/base"],
    "process/service": ["core/base", "process", "process/options"],
    "process/tracing": ["core/base", "io", "process", "process/http"],
    "process/status": ["core/base", "process"],
    "server/models": ["core/base", "core/choices", "core/data", "core/features/*",
                      "core/policies", "io", "io/models",
                      "io/segments", "process"],
    "server/decisions": ["core/base", "core/choices", "core/data",
                         "core/features/schema", "core/policies",
                         "core/aggregation", "io", "io/models", "io/segments", "io/spool",
                         "process", "process/tracing", "server/models", "server/shadows"],
    "server/shadows": ["core/base", "core/data", "core/policies/*", "io", "io/spool",
                       "process", "server/models"],
    "server/identity": ["core/base", "io", "io/models", "process", "process/http"],
    "server/admission": ["core/base", "process", "server/decisions"],
    "server/rpc": ["core/base", "core/features/schema", "io/spool", "process", "process/tracing", "server/models",
                   "server/admission", "server/decisions", "server/identity", "server/rpc/connections"],
    "server/rpc/connections": ["core/base", "process", "server/admission"],
    "server/http": ["core/base", "process", "process/http", "server/decisions",
                    "server/http/json", "server/identity", "web"],
    "server/http/json": ["core/base", "core/features/schema", "process"],
    "server/status": ["core/base", "io", "io/models", "io/spool", "process",
                      "process/http", "process/status", "server/models", "server/shadows"],
    "server": ["core/base", "io/*", "process", "process/service", "process/tracing", "server/*"],
    "sidecar/join": ["core/base"],
    "sidecar/spools": ["core/base", "io", "io/segments", "io/spool", "process",
                       "sidecar/join"],
    "sidecar/stream": ["core/base", "io", "io/segments", "io/spool", "process"],
    "sidecar/upkeep": ["core/base", "io", "io/segments", "io/upkeep", "process"],
    "sidecar/status": ["core/base", "core/choices", "core/counterfactual",
                       "core/counterfactual/evaluation", "io", "process", "process/status",
                       "sidecar/spools"],
    "sidecar": ["core/base", "io", "io/segments", "io/spool", "process",
                "process/http", "process/service", "process/status", "process/tracing",
                "sidecar/*", "web"],
    "trainer/frames": ["core/base", "core/scoring", "io/segments"],
    "trainer/tuples/scan": ["core/base", "io/*", "process"],
    "trainer/tuples": ["core/*", "io/*", "process", "trainer/decision_files",
                       "trainer/frames", "trainer/tuples/scan"],
    "trainer/tuples/labels": ["core/*", "io/*", "process", "trainer/tuples",
                              "trainer/tuples/scan"],
    "trainer/suggest": ["core/*", "io/*", "process", "trainer/tuples", "trainer/tuples/scan"],
    "trainer/offpolicy": ["core/*", "io/*", "process", "trainer/frames", "trainer/suggest",
                          "trainer/tuples", "trainer/tuples/scan",
                          "trainer/tuples/labels", "trainer/ope/policies",
                          "trainer/ope/rankings"],
    "trainer/exploration": ["core/*", "io/*", "process", "trainer/frames", "trainer/offpolicy",
                            "trainer/tuples", "trainer/tuples/scan"],
    "trainer/decision_files": ["core/base", "io", "io/text", "trainer/tuples/scan"],
    "trainer/retention": ["core/base", "core/choices", "core/policies", "io",
                          "io/models", "io/segments", "process", "trainer/tuples", "trainer/tuples/scan"],
    "trainer/imports": ["core/base", "core/data", "io/datasets", "io/scorers"],
    "trainer/labelled": ["core/*", "io/*", "process", "process/tracing", "trainer/decision_files", "trainer/frames", "trainer/imports", "trainer/offpolicy",
                         "trainer/suggest", "trainer/trees", "trainer/tuples", "trainer/tuples/scan"],
    "trainer/scoring": ["core/*", "io/*", "process", "trainer/decision_files"],
    "trainer/trees": ["core/*", "io/*", "process", "process/options"],
    "trainer/rollout": ["core/*", "io/*", "process", "process/http", "trainer/tuples", "trainer/tuples/scan",
                        "trainer/decision_files"],
    "trainer/config_checks": ["io", "io/models", "io/segments", "process", "process/service",
                              "process/tracing",
                              "trainer/clicks", "trainer/cluster", "trainer/decision_files",
                              "trainer/exploration", "trainer/labelled", "trainer/offpolicy",
                              "trainer/ope", "trainer/retention", "trainer/rollout",
                              "trainer/scoring", "trainer/suggest", "trainer/tuples/scan"],
    "trainer/clicks": ["core/*", "io/*", "process", "trainer/frames", "trainer/tuples", "trainer/tuples/scan"],
    "trainer/cluster": ["core/*", "io/*", "process", "process/drawing",
                        "trainer/tuples", "trainer/tuples/scan"],
    "trainer/ope/policies": ["core/*", "io/*", "process", "trainer/frames", "trainer/tuples", "trainer/tuples/scan",
                             "trainer/decision_files"],
    "trainer/ope/interleaving": ["core/*", "io/*", "process", "trainer/frames",
                                 "trainer/ope/policies"],
    "trainer/ope/rankings": ["core/*", "io/*", "process", "trainer/decision_files",
                             "trainer/ope/policies", "trainer/tuples"],
    "trainer/ope/page": ["process/drawing"],
    "trainer/ope": ["core/*", "io/*", "process", "trainer/frames", "trainer/tuples", "trainer/tuples/scan",
                    "trainer/decision_files", "trainer/offpolicy",
                    "trainer/ope/interleaving", "trainer/ope/policies",
                    "trainer/ope/rankings"],
    "trainer": ["core/*", "io/*", "process", "process/options", "process/tracing", "trainer/*"],
    "client/rpc": ["core/base", "process"],
    "client/commands": ["core/base", "core/data", "io/*", "process", "client/rpc"],
    "client/control": ["core/base", "process", "client/rpc"],
    "client/simulation": ["core/base", "core/data", "core/features/schema",
                          "core/simulation", "io/*", "process", "client/rpc"],
    "client/logs": ["core/base", "core/choices", "core/data", "core/features",
                    "core/policies/*", "core/aggregation",
                    "io/*", "process"],
    "client/export": ["core/base", "core/data", "core/features/schema", "io",
                      "io/columns", "io/segments", "process", "client/logs"],
    "client/import": ["core/base", "core/data", "core/features/schema", "io",
                      "io/columns", "io/models", "io/segments", "io/text",
                      "process"],
    "client/upkeep": ["core/base", "io", "io/segments", "io/upkeep", "process",
                      "client/logs"],
    "client/validation": ["core/base", "core/choices", "core/data", "core/features/*",
                          "core/policies", "core/counterfactual", "io/*", "process",
                          "client/logs"],
    "client/top": ["core/base", "process", "process/http"],
    "client/quickstart": ["core/base", "io", "io/segments", "process", "process/options"],
    "client": ["process", "client/*"],
}
# Pattern of an include -> folders that may have it.
RESTRICTED = [
    (re.compile(r"^(grpcpp?|grpc\+\+)/|\.grpc\.pb\.h$"), ["server/*", "client/*"]),
    (re.compile(r"^prometheus/"), ["process"]),
    (re.compile(r"^civetweb\.h$"), ["process/http"]),
    (re.compile(r"^nats/"), ["sidecar/stream"]),
    (re.compile(r"^(unicode/|libstemmer\.h$)"), ["core/features/text"]),
    (re.compile(r"^xgboost/"), ["trainer/trees"]),
    (re.compile(r"^rapidjson/"), ["process", "client/import", "io/text", "io/scorers",
                                  "server/http/json"]),
    # No files, sockets, clocks or threads in core.
    (re.compile(r"^(fstream|iostream|filesystem|thread|mutex|shared_mutex|atomic|future|"
                r"condition_variable|chrono|ctime|time\.h|pthread\.h|unistd\.h|fcntl\.h)$|"
                r"^(sys|netinet|arpa|absl/synchronization)/|^absl/time/clock\.h$"),
     ["io/*", "process", "process/http", "process/service", "process/status",
      "process/tracing", "server/*", "sidecar", "sidecar/spools", "sidecar/status", "sidecar/stream", "sidecar/upkeep",
      "trainer/*", "client/*"]),
    (re.compile(r"^(tests|bench)/"), []),
]
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]')


def folder_of(path):
    """The folder of the table that `path` lies in."""
    name = pathlib.PurePosixPath(path).parent.as_posix()
    return name if name in MAY_INCLUDE else None


def permits(pattern, folder):
    if not pattern.endswith("/*"):
        return folder == pattern
    return folder == pattern[:-2] or folder.startswith(pattern[:-1])


def check_line(folder, included):
    other = folder_of(included)
    if other and other != folder and not any(
            permits(pattern, other) for pattern in MAY_INCLUDE[folder]):
        return f"{folder} may not include {other}"
    for pattern, allowed in RESTRICTED:
        if pattern.search(included) and not any(
                permits(each, folder) for each in allowed):
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
        ("server/models/a.cc", '#include "core/learners/orders/crf.h"', False),
        ("server/models/a.cc", '#include "client/rpc/client.h"', False),
        ("server/models/a.cc", '#include "server/rpc/rpc_call.h"', False),
        ("server/a.cc", '#include "server/rpc/grpc_server.h"', True),
        ("trainer/tuples/a.cc", "#include <grpcpp/grpcpp.h>", False),
        ("client/simulation/a.cc", '#include "sortition/v1/ranking.grpc.pb.h"', True),
        ("io/segments/a.cc", "#include <prometheus/counter.h>", False),
        ("process/a.h", '#include "rapidjson/writer.h"', True),
        ("client/logs/a.cc", '#include "rapidjson/writer.h"', False),
        ("core/optim/a.cc", "#include <thread>", False),
        ("core/base/a.cc", "#include <sys/socket.h>", False),
        ("core/learners/games/a.cc", '#include "absl/time/clock.h"', False),
        ("core/data/a.cc", '#include "io/files.h"', False),
        ("core/games/ranking/a.h", '#include "core/games/f_beta/f_beta_game.h"', False),
        ("core/policies/distributions/a.h", '#include "core/games/f_beta/f_beta_game.h"', True),
        ("core/counterfactual/a.h", '#include "core/policies/linear_policy.h"', False),
        ("core/losses/a.cc", '#include "core/policies/linear_policy.h"', True),
        ("core/losses/a.cc", '#include "core/learners/orders/crf.h"', False),
        ("core/learners/hinge/a.cc", '#include "core/learners/orders/crf.h"', False),
        ("io/a.cc", "#include <fcntl.h>", True),
        ("process/http/a.cc", "#include <civetweb.h>", True),
        ("server/http/a.cc", "#include <civetweb.h>", False),
        ("sidecar/a.cc", "#include <nats/nats.h>", False),
        ("trainer/labelled/a.cc", "#include <xgboost/c_api.h>", False),
        ("trainer/trees/a.cc", "#include <xgboost/c_api.h>", True),
        ("sidecar/a.cc", '#include "server/server.h"', False),
        ("trainer/labelled/a.cc", '#include "core/learners/learners.h"', True),
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
