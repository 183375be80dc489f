"""What deploy/compose.yaml, the units and their options promise: each field that keeps it is there.

usage: compose_test.py DEPLOY PROGRAMS [unittest options]
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

DEPLOY, PROGRAMS = Path(sys.argv[1]), Path(sys.argv[2])

try:
    import yaml
except ImportError:
    print("skipped: no python3-yaml; ./dev setup test")
    sys.exit(77)


def seconds(text: str) -> int:
    return int(re.fullmatch(r"(\d+)s", text).group(1))


class ComposeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.services: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())[
            "services"
        ]
        self.ours = {n: s for n, s in self.services.items() if s["image"] == "sortition"}

    def test_every_role_is_there(self) -> None:
        self.assertEqual(set(self.ours), {"server", "sidecar", "trainer", "consumer"})

    def test_images_of_others_are_pinned(self) -> None:
        for name, service in self.services.items():
            if name not in self.ours:
                self.assertRegex(service["image"], r":v?\d+\.\d+\.\d+$", name)

    def test_ours_may_do_little(self) -> None:
        for name, service in self.ours.items():
            self.assertTrue(service["read_only"], name)
            self.assertEqual(service["cap_drop"], ["ALL"], name)
            self.assertIn("no-new-privileges:true", service["security_opt"], name)

    def test_descriptors_are_enough(self) -> None:
        for name, service in self.services.items():
            if name in self.ours or name.startswith("nats-"):
                limit = service["ulimits"]["nofile"]
                self.assertGreaterEqual(limit["soft"], 65536, name)
                self.assertEqual(limit["soft"], limit["hard"], name)

    def test_profiles_choose_what_is_more(self) -> None:
        chosen = {name: service.get("profiles") for name, service in self.services.items()}
        self.assertEqual(
            chosen,
            {
                **dict.fromkeys(("server", "sidecar", "trainer"), None),
                **dict.fromkeys(("nats-1", "nats-2", "nats-3", "consumer"), ["streams"]),
                **dict.fromkeys(("prometheus", "grafana"), ["dashboards"]),
            },
        )

    def test_the_drain_ends_before_the_kill(self) -> None:
        text = (DEPLOY / "examples/server.textproto").read_text()
        grace = re.search(r"^drain_grace_seconds: (\d+)", text, re.MULTILINE)
        # drain_seconds is 10 unless the file says more; shadows may take 5.
        self.assertNotIn("drain_seconds", text.replace("drain_grace_seconds", ""))
        drained = int(grace.group(1)) + 10 + 5
        self.assertGreater(seconds(self.ours["server"]["stop_grace_period"]), drained)

    def test_the_trainer_does_not_sleep_first(self) -> None:
        self.assertEqual(self.ours["trainer"]["command"][0], "sortition-learn")

    def test_every_file_that_is_named_is_there(self) -> None:
        for name, service in self.ours.items():
            for word in service["command"]:
                for role in ("sidecar", "publish"):
                    word_of_role = word.replace("${SORTITION_SIDECAR:-sidecar}", role)
                    found = re.search(r"/etc/sortition/(\S+)", word_of_role)
                    if found:
                        self.assertTrue((DEPLOY / "examples" / found.group(1)).exists(), name)
        for role in ("sidecar", "publish"):
            targets = list((DEPLOY / "prometheus/targets" / role).glob("*.yml"))
            self.assertEqual(len(targets), 1, role)


class ImageTest(unittest.TestCase):
    def test_answers_nobody_outside_unless_told_to(self) -> None:
        text = (DEPLOY.resolve().parent / "Dockerfile").read_text()
        command = text[text.index("\nCMD [") :]
        self.assertIn("sortition-server", command)
        self.assertNotIn("0.0.0.0", command)


class UnitsTest(unittest.TestCase):
    """The same for systemd's units."""

    def text(self, unit: str) -> str:
        return (DEPLOY / "systemd" / unit).read_text()

    def value(self, unit: str, key: str) -> str:
        return re.search(rf"^{key}=(.*)$", self.text(unit), re.MULTILINE).group(1)

    def test_the_drain_ends_before_the_kill(self) -> None:
        text = (DEPLOY / "debian/etc/server.textproto").read_text()
        drained = 5
        for option in ("drain_grace_seconds", "drain_seconds"):
            drained += int(re.search(rf"^{option}: (\d+)", text, re.MULTILINE).group(1))
        self.assertGreater(seconds(self.value("sortition-server.service", "TimeoutStopSec")), drained)

    def test_every_service_may_do_as_little(self) -> None:
        # hardening.conf, which every service gets, says what it may do.
        hardening = set(re.findall(r"^(\w+)=", self.text("hardening.conf"), re.MULTILINE))
        self.assertIn("NoNewPrivileges", hardening)
        services = sorted(path.name for path in (DEPLOY / "systemd").glob("*.service"))
        self.assertEqual(len(services), 4)
        for service in services:
            own = set(re.findall(r"^(\w+)=", self.text(service), re.MULTILINE))
            self.assertEqual(own & hardening, set(), service)

    def test_each_may_write_its_own_folders_alone(self) -> None:
        # ProtectSystem=strict makes all else read-only. A parent would let it write all of them.
        self.assertIn("ProtectSystem=strict", self.text("hardening.conf"))
        own = {
            "server": {"sortition/models", "sortition/spool"},
            "sidecar": {"sortition/spool", "sortition/tuples"},
            "trainer": {"sortition/models"},
            "rollout": {"sortition/models"},
        }
        for name, folders in own.items():
            unit = f"sortition-{name}.service"
            self.assertEqual(set(self.value(unit, "StateDirectory").split()), folders)
            self.assertNotIn("ReadWritePaths", self.text(unit))
        scratch = re.search(r'^scratch: "(.*)"$', (DEPLOY / "debian/etc/trainer.textproto").read_text(), re.M)
        cache = self.value("sortition-trainer.service", "CacheDirectory")
        self.assertEqual(scratch.group(1), f"/var/cache/{cache}")

    def test_what_fails_is_started_again_for_ever(self) -> None:
        # More than five starts in ten seconds would be the last ones.
        for service in ("sortition-server.service", "sortition-sidecar.service"):
            self.assertEqual(self.value(service, "Restart"), "on-failure")
            self.assertEqual(self.value(service, "StartLimitIntervalSec"), "0")
            self.assertGreaterEqual(seconds(self.value(service, "RestartSec")), 2)

    def test_the_sidecar_outlives_the_drain_of_the_server(self) -> None:
        # What starts first is stopped last.
        sidecar = "sortition-sidecar.service"
        self.assertEqual(self.value(sidecar, "Before"), "sortition-server.service")
        self.assertNotIn("sortition-server", self.value(sidecar, "After"))

    def test_a_rollout_that_a_training_begins_takes_its_steps(self) -> None:
        wanted = self.value("sortition-trainer.timer", "Wants")
        self.assertEqual(wanted, "sortition-rollout.timer")
        # Meanwhile a training ends with status 4, which is no failure.
        training = self.value("sortition-trainer.service", "SuccessExitStatus")
        self.assertIn("4", training.split())


class OptionsTest(unittest.TestCase):
    """The options that packages install."""

    def run_with(self, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [str(PROGRAMS / program), *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    def config(self, name: str) -> str:
        return f"--config={DEPLOY}/debian/etc/{name}.textproto"

    def test_services_find_nothing_wrong(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for program, flags in (
                ("server", (f"--model_store={folder}", f"--spool.dir={folder}/spool")),
                ("sidecar", (f"--spool={folder}", f"--tuples={folder}")),
            ):
                checked = self.run_with(
                    f"sortition-{program}", "--check_config", self.config(program), *flags
                )
                self.assertEqual((checked.returncode, checked.stdout), (0, ""), program)

    def test_the_trainer_reads_its_own(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for command, name, more in (
                ("train", "trainer", (f"--scratch={folder}",)),
                ("rollout", "rollout", ()),
            ):
                store = f"{folder}/{command}"  # Runs leave their record there.
                os.mkdir(store)
                flags = (f"--tuples={folder}/none", f"--model_store={store}")
                run = self.run_with("sortition-trainer", command, self.config(name), *flags, *more)
                # Not 2: called wrongly. There is nothing to learn from.
                self.assertEqual(run.returncode, 1, run.stderr)
                self.assertIn("NOT_FOUND", run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
