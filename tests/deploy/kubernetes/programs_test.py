"""The programs accept the options that pods give them. usage: programs_test.py BINARIES"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import deployed
import rendered


class ProgramsTest(unittest.TestCase):
    binaries: pathlib.Path

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def deploy(self, pod: rendered.Pod) -> deployed.DeployedPod:
        return deployed.DeployedPod(
            pod,
            f"{pod.name}-0",
            self.folder / pod.overlay / pod.name,
            self.binaries,
            {name: self.folder / pod.overlay / name for name in ("models", "tuples")},
            addresses={},
            ports={},
        )

    def test_find_nothing_wrong(self) -> None:
        checked = []
        for pod in rendered.all_pods():
            for container in pod.containers:
                command = container.get("command", [""])[0]
                if not command.startswith("sortition-") or command == "sortition-learn":
                    continue
                here = self.deploy(pod)
                if pod.volume("identity") is not None:
                    self.make_identity(here.folder / "identity")
                if pod.volume("brokers") is not None:
                    for item in pod.volume("brokers")["secret"]["items"]:
                        (here.folder / "brokers" / item["path"]).write_text("secret")
                done = here.run(container["name"], "--check_config")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                checked.append((pod.overlay, container["name"]))
        several = ["server", "sidecar", "consumer"]
        expected = [("single", "server"), ("single", "sidecar")]
        expected += [(o, c) for o in ("replicas", "production") for c in several]
        self.assertCountEqual(checked, expected)

    def make_identity(self, folder: pathlib.Path) -> None:
        """Makes what the Secret is to have."""
        examples = rendered.ROOT / "deploy" / "examples" / "identity"
        subprocess.run(
            [str(examples / "make_certificates.sh")], cwd=folder, capture_output=True, check=True
        )
        shutil.copy(examples / "tokens", folder)

    def test_find_what_is_wrong(self) -> None:
        here = self.deploy(rendered.pods("single")["sortition"])
        self.assertEqual(here.run("server", "--check_config", "--drain=1").returncode, 2)
        path = pathlib.Path(here.here("/etc/sortition/sidecar.textproto"))
        path.write_text(path.read_text() + "windows: 1\n")
        self.assertEqual(here.run("sidecar", "--check_config").returncode, 2)

    def test_trainer_learns_step_by_step(self) -> None:
        pods = rendered.pods("single")
        train, rollout = (self.deploy(pods[f"sortition-{n}"]) for n in ("train", "rollout"))

        def learn(pod: deployed.DeployedPod) -> tuple[int, str]:
            done = pod.run("trainer")
            return done.returncode, done.stdout + done.stderr

        def trainer(*words: str) -> None:
            store = train.here("/var/lib/sortition/models/store")
            command = [str(self.binaries / "sortition-trainer"), *words, f"--model_store={store}"]
            subprocess.run(command, capture_output=True, check=True)

        # Of an empty store nothing takes over, and there is nothing to learn from: status 1 and
        # NOT_FOUND. Status 2 would be an option that is wrong.
        self.assertEqual(learn(rollout), (0, ""))
        status, text = learn(train)
        self.assertEqual(status, 1)
        self.assertIn("NOT_FOUND", text)
        self.assertIn("tuples/joined", text)

        data = self.folder / "labelled.letor"
        data.write_text("".join(f"{i % 2} qid:{i // 4} 1:{i % 4} 2:{i % 3}\n" for i in range(40)))
        trainer("fit", f"--data={data}", "--action=rank")
        trainer("publish", "--from_version=1", "--reason=again")
        trainer("rollout", "--start", "--version=2", "--reason=try")
        # While version 2 takes over, train stands back and rollout asks for tuples.
        pathlib.Path(train.here("/var/lib/sortition/tuples/joined")).mkdir()
        expected = "a version is taking over: nothing is learned meanwhile\n"
        self.assertEqual(learn(train), (0, expected))
        status, text = learn(rollout)
        self.assertEqual(status, 0, text)
        self.assertIn("Version 2 waits at 1 %", text)
        trainer("rollout", "--stop", "--reason=over")
        self.assertEqual(learn(rollout), (0, ""))

    def test_answers_of_the_trainer_are_no_failures(self) -> None:
        """Status 3 says that the gate said no, or that a version went back; 4 that there is too
        little to learn from yet; others are errors."""
        here = self.deploy(rendered.pods("single")["sortition-train"])
        here.binaries = self.folder / "stub"
        here.binaries.mkdir()
        stub = here.binaries / "sortition-trainer"
        for status, expected in ((0, 0), (1, 1), (2, 1), (3, 0), (4, 0)):
            stub.write_text(f'#!/bin/sh\ncase "$*" in *--status*) exit 0;; esac\nexit {status}\n')
            stub.chmod(0o755)
            self.assertEqual(here.run("trainer").returncode, expected)


if __name__ == "__main__":
    rendered.require_tools()
    ProgramsTest.binaries = deployed.binaries_of(sys.argv)
    unittest.main(verbosity=2)
