"""The maintainer scripts of the packages, with systemd and deb-systemd-invoke made up: what they ask
for, and that a service which does not start leaves the package configured.

usage: scripts_test.py DEBIAN PROGRAMS [unittest options]
  DEBIAN    deploy/debian
  PROGRAMS  folder of the programs
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DEBIAN, PROGRAMS = Path(sys.argv[1]), Path(sys.argv[2])
SYSTEMD = "/run/systemd/system"
UNITS = "/etc/systemd/system"


class ScriptsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.build = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.build)
        command = ["cmake", "-S", DEBIAN, "-B", cls.build, f"-DSORTITION_PROGRAMS={PROGRAMS}"]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1000000000"}
        subprocess.run([*map(str, command)], check=True, capture_output=True, env=environment)

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("deb-systemd-invoke", "systemctl", "systemd-sysusers", "install"):
            self.fake(name, 0)
        # What stands for systemd's own folders.
        self.systemd, self.units = self.folder / "run", self.folder / "etc"
        self.systemd.mkdir()

    def fake(self, name: str, status: int) -> None:
        """A program that notes what it is asked for, and ends with the status."""
        path = self.folder / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>{self.folder}/calls\nexit {status}\n')
        path.chmod(0o755)

    def run_script(self, package: str, script: str, *arguments: str) -> list[str]:
        """What systemd is asked for by a script that succeeds."""
        calls = self.folder / "calls"
        calls.write_text("")
        text = (self.build / "control" / f"sortition-{package}" / script).read_text()
        text = text.replace(SYSTEMD, str(self.systemd)).replace(UNITS, str(self.units))
        subprocess.run(
            ["/bin/sh", "-c", text, script, *arguments],
            check=True,
            env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"},
        )
        lines = calls.read_text().splitlines()
        return [line for line in lines if line.startswith(("deb-systemd-invoke", "systemctl"))]

    def test_an_upgrade_restarts_what_goes_on_but_no_training(self) -> None:
        for package, units in (
            ("server", "sortition-server.service"),
            ("sidecar", "sortition-sidecar.service"),
            ("trainer", "sortition-trainer.timer sortition-rollout.timer"),
        ):
            asked = self.run_script(package, "postinst", "configure", "1.0.0")
            restart = f"deb-systemd-invoke try-restart {units}"
            self.assertEqual(asked, ["systemctl --system daemon-reload", restart])

    def test_a_service_that_fails_leaves_the_package_as_it_should_be(self) -> None:
        self.fake("deb-systemd-invoke", 1)
        self.fake("systemctl", 1)
        self.assertEqual(len(self.run_script("server", "postinst", "configure", "1.0.0")), 2)
        self.assertEqual(len(self.run_script("server", "prerm", "remove")), 1)
        self.assertEqual(len(self.run_script("server", "postrm", "remove")), 1)

    def test_an_installation_starts_nothing(self) -> None:
        asked = self.run_script("server", "postinst", "configure", "")
        self.assertEqual(asked, ["systemctl --system daemon-reload"])

    def test_a_removal_stops_everything_and_an_upgrade_nothing(self) -> None:
        units = (
            "sortition-trainer.service sortition-trainer.timer "
            "sortition-rollout.service sortition-rollout.timer"
        )
        asked = self.run_script("trainer", "prerm", "remove")
        self.assertEqual(asked, [f"deb-systemd-invoke stop {units}"])
        self.assertEqual(self.run_script("trainer", "prerm", "upgrade", "1.0.1"), [])

    def test_a_removal_forgets_what_was_enabled(self) -> None:
        link = self.units / "timers.target.wants/sortition-trainer.timer"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to("/nonexistent")
        self.run_script("trainer", "postrm", "upgrade", "1.0.1")
        self.assertTrue(link.is_symlink())
        self.run_script("trainer", "postrm", "remove")
        self.assertFalse(link.is_symlink())

    def test_without_systemd_nobody_is_asked(self) -> None:
        self.systemd.rmdir()
        for script, *arguments in (
            ("postinst", "configure", "1.0.0"),
            ("prerm", "remove"),
            ("postrm", "remove"),
        ):
            self.assertEqual(self.run_script("server", script, *arguments), [], script)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
