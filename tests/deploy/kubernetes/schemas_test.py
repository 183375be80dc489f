"""Rendered manifests are what the published schemas allow. usage: schemas_test.py FOLDER

Installs the schemas from npm into FOLDER, at the versions of package-lock.json.
"""

import copy
import json
import pathlib
import subprocess
import sys
import unittest
from typing import Any, Callable

import rendered

HERE = pathlib.Path(__file__).resolve().parent


class SchemasTest(unittest.TestCase):
    """The schemas are compiled; schemas.mjs asks them, and finds fields that they do not know."""

    folder: pathlib.Path

    def errors(self, resources: list[tuple[str, Any]]) -> list[str]:
        checked = subprocess.run(
            ["node", str(HERE / "schemas.mjs"), str(self.folder)],
            input=json.dumps(resources),
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(checked.stderr, "")
        errors = checked.stdout.splitlines()
        self.assertEqual(checked.returncode, 1 if errors else 0)
        return errors

    def test_allow_what_is_rendered(self) -> None:
        resources = [(o, r) for o in rendered.OVERLAYS for r in rendered.render(o)]
        self.assertGreater(len(resources), 50)
        self.assertEqual(self.errors(resources), [])

    def test_refuse_what_is_wrong(self) -> None:
        def first(kind: str) -> Any:
            return copy.deepcopy(next(iter(rendered.of_kind("production", kind).values())))

        def server(change: Callable[[Any], Any]) -> Any:
            resource = copy.deepcopy(rendered.of_kind("single", "StatefulSet")["sortition"])
            change(resource["spec"]["template"]["spec"]["containers"][0])
            return resource

        wrong = {
            "typing error": server(lambda c: c.update(livenesProbe={})),
            "deep typing error": server(lambda c: c["livenessProbe"]["grpc"].update(svc="")),
            "port as text": server(lambda c: c["livenessProbe"]["grpc"].update(port="8500")),
            "no name": server(lambda c: c.pop("name")),
            "unknown kind": first("StatefulSet") | {"kind": "StatefullSet"},
            "unknown version": first("StatefulSet") | {"apiVersion": "apps/v3"},
            "no rule": first("PrometheusRule") | {"spec": {"groups": [{"rules": []}]}},
            "unknown field of a monitor": first("ServiceMonitor") | {"specs": {}},
        }
        errors = self.errors(list(wrong.items()))
        self.assertEqual([error.split(":")[0] for error in errors], list(wrong))


if __name__ == "__main__":
    rendered.require_tools()
    SchemasTest.folder = pathlib.Path(sys.argv.pop(1)).resolve()
    install = HERE.parents[1] / "node" / "install_packages.sh"
    status = subprocess.run([install, HERE, SchemasTest.folder], check=False).returncode
    if status != 0:
        sys.exit(status)
    unittest.main(verbosity=2)
