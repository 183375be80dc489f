#!/usr/bin/env python3
"""Runs modules of tests. usage: run_tests.py MODULE...

Prints "skipped:", why and what helps if a package that they need is not installed.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import unittest

NEEDED = {
    "grpc": "python3-grpcio",
    "google.protobuf": "python3-protobuf",
    "numpy": "python3-numpy",
    "pandas": "python3-pandas",
    "scipy": "python3-scipy",
    "sklearn": "python3-sklearn",
    "setuptools": "python3-setuptools",
    "wheel": "python3-wheel",
}


def is_absent(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is None
    except ModuleNotFoundError:
        return True


def main(names: list[str]) -> int:
    absent = [] if shutil.which("zstd") else ["zstd"]
    absent += [package for module, package in NEEDED.items() if is_absent(module)]
    if absent:
        print(f"skipped: no {', '.join(absent)}; ./dev setup test")
        return 77
    tests = unittest.defaultTestLoader.loadTestsFromNames(names)
    return 0 if unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
