#!/usr/bin/env python3
"""Runs modules of tests. usage: run_tests.py MODULE...

Prints "skipped:" and why where a module that they need is not here.
"""

from __future__ import annotations

import importlib.util
import sys
import unittest

NEEDED = {
    "grpc": "python3-grpcio",
    "google.protobuf": "python3-protobuf",
    "numpy": "python3-numpy",
    "pandas": "python3-pandas",
    "scipy": "python3-scipy",
    "sklearn": "python3-sklearn",
}


def is_absent(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is None
    except ModuleNotFoundError:
        return True


def main(names: list[str]) -> int:
    absent = [package for module, package in NEEDED.items() if is_absent(module)]
    if absent:
        print(f"skipped: not installed: {' '.join(absent)}")
        return 0
    tests = unittest.defaultTestLoader.loadTestsFromNames(names)
    return 0 if unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
