"""Pods of `replicas` and of `production`, run and ended here as a kubelet does it: three brokers,
two servers with their sidecars, one consumer. usage: processes_test.py BINARIES
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import deployed
import probes
import rendered

CANDIDATES = "0 1:0.9 2:0.1\n0 1:0.2 2:0.7\n0 1:0.4 2:0.4\n"


class ProcessesTest(unittest.TestCase):
    binaries: pathlib.Path

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.shared = {name: self.folder / name for name in ("models", "tuples")}
        self.addresses: dict[str, str] = {}
        self.pods: list[deployed.DeployedPod] = []
        self.addCleanup(lambda: [pod.kill() for pod in self.pods])

    def deploy(
        self, overlay: str, pod: str, ordinal: int, ports: dict[int, int] | None = None
    ) -> deployed.DeployedPod:
        name = f"{pod}-{ordinal}"
        made = deployed.DeployedPod(
            rendered.pods(overlay)[pod],
            name,
            self.folder / name,
            self.binaries,
            self.shared,
            self.addresses,
            ports or {},
        )
        self.pods.append(made)
        return made

    def wait_for(self, pod: deployed.DeployedPod, container: str, probe: str) -> None:
        deployed.poll_until(
            f"{probe} of {pod.name}, whose log is in {pod.log_file(container)}",
            lambda: probes.succeeds(pod, container, probe),
        )

    def call(self, *words: str, text: str = "") -> None:
        done = subprocess.run(
            [str(self.binaries / "sortition"), *words],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def start_brokers(self, overlay: str = "replicas") -> None:
        # Each names all of them, so their ports must be known first.
        ports = [{p: deployed.free_port() for p in (4222, 6222)} for _ in range(3)]
        for i, own in enumerate(ports):
            for port, here in own.items():
                name = f"sortition-nats-{i}.sortition-nats:{port}"
                self.addresses[name] = f"127.0.0.1:{here}"
        for i, own in enumerate(ports):
            broker = self.deploy(overlay, "sortition-nats", i, own)
            if overlay == "production":
                broker.secrets = {"PUBLISHER_PASSWORD": "publishes", "CONSUMER_PASSWORD": "consumes"}
                self.copy_secret(broker, "/etc/nats-identity", "ca.pem", "broker.pem", "broker.key")
            broker.start("nats")
        for broker in self.pods:
            for probe in ("startup", "readiness", "liveness"):
                self.wait_for(broker, "nats", probe)

    def start_server(self, pod: deployed.DeployedPod) -> None:
        """Starts the sidecar, and the server once that is up, as its kind of container says."""
        pod.start("sidecar")
        self.wait_for(pod, "sidecar", "liveness")
        pod.start("server")
        for probe in ("startup", "readiness", "liveness"):
            self.wait_for(pod, "server", probe)
        self.wait_for(pod, "sidecar", "liveness")

    def end_server(self, pod: deployed.DeployedPod) -> None:
        """Ends a pod: first the server, then the sidecar. Asks the server until it is gone."""
        begin = time.monotonic()
        statuses: list[int] = []
        ended = threading.Thread(target=lambda: statuses.append(pod.terminate("server")))
        ended.start()
        # It is not ready at once, and still answers for drain_grace_seconds.
        deployed.poll_until("not ready", lambda: not probes.succeeds(pod, "server", "readiness"))
        self.assertLess(time.monotonic() - begin, 4)
        self.decide(pod, f"late-{pod.name}")
        ended.join()
        statuses.append(pod.terminate("sidecar"))
        self.assertEqual(statuses, [0, 0])
        taken = time.monotonic() - begin
        self.assertGreater(taken, 8)
        self.assertLess(taken, pod.pod.spec["terminationGracePeriodSeconds"])
        self.assertIn('"message":"drained"', pod.log("server"))
        last = json.loads(pod.log("sidecar").splitlines()[-1])
        self.assertEqual((last["message"], last["drained"]), ("sidecar stopped", True))

    def decide(self, pod: deployed.DeployedPod, decision: str) -> None:
        server = f"--server=127.0.0.1:{pod.ports[8500]}"
        self.call("rank", server, f"--decision_id={decision}", text=CANDIDATES)
        self.decided.add(decision)

    def rewards(self, tuples: str) -> dict[str, float]:
        """Returns the reward of each decision that has a tuple; none may have two."""
        log = [str(self.binaries / "sortition"), "log", "cat", tuples]
        done = subprocess.run(log, capture_output=True, text=True, check=False)
        found: dict[str, float] = {}
        for line in done.stdout.splitlines():
            record = json.loads(line)["record"].get("tuple")
            if record is not None:
                decision = record["decision"]["decision_id"]
                self.assertNotIn(decision, found)
                found[decision] = float(record.get("reward", 0))
        return found

    def test_nothing_is_lost_when_a_pod_is_replaced(self) -> None:
        self.decided: set[str] = set()
        self.start_brokers()
        consumer = self.deploy("replicas", "sortition-consumer", 0)
        # A window of ten minutes is too long for a test; on a busy machine reports take seconds.
        consumer.start("consumer", "--join.reward_wait_time_seconds=15")
        self.wait_for(consumer, "consumer", "startup")
        servers = [self.deploy("replicas", "sortition", i) for i in range(2)]
        for server in servers:
            self.start_server(server)
        for i in range(4):
            self.decide(servers[i % 2], f"decision-{i}")
            # Any server takes feedback about the decisions of all.
            other = f"--server=127.0.0.1:{servers[(i + 1) % 2].ports[8500]}"
            self.call("feedback", other, f"--decision_id=decision-{i}", "--reward=1")
        # What serves is changed from within a pod.
        port = servers[0].ports[8505]
        self.call("models", "list", f"--server=127.0.0.1:{port}")
        self.end_server(servers[0])
        # Under the same name, with the same spool.
        self.start_server(servers[0])
        self.decide(servers[0], "again")

        tuples = consumer.here("/var/lib/sortition/tuples/joined")
        deployed.poll_until(
            f"a tuple of each decision, log in {consumer.folder}",
            lambda: set(self.rewards(tuples)) == self.decided,
        )
        rewarded = {decision for decision, reward in self.rewards(tuples).items() if reward == 1}
        self.assertEqual(rewarded, {f"decision-{i}" for i in range(4)})
        self.assertEqual(consumer.terminate("consumer"), 0)
        for broker in self.pods[:3]:
            # The hook, as the image calls the program, then SIGTERM.
            hook = broker.pod.container("nats")["lifecycle"]["preStop"]["exec"]["command"]
            self.assertEqual(hook[0], "/nats-server")
            hook = [deployed.BROKER, *(broker.here(word) for word in hook[1:])]
            subprocess.run(hook, check=True)
            deployed.poll_until("the hook", lambda: "lame duck mode" in broker.log("nats"))
            broker.terminate("nats")

    def make_brokers_secret(self) -> None:
        """Makes what the Secret sortition-brokers is to have; names are those of the test."""
        folder = self.folder / "secret"
        folder.mkdir()
        identity = rendered.ROOT / "deploy" / "examples" / "identity"
        subprocess.run(
            [str(identity / "make_certificates.sh")], cwd=folder, capture_output=True, check=True
        )
        for name, there in (("authority.pem", "ca.pem"), ("server.pem", "broker.pem")):
            (folder / name).rename(folder / there)
        (folder / "server.key").rename(folder / "broker.key")
        (folder / "publisher").write_text("publishes")
        (folder / "consumer").write_text("consumes")

    def copy_secret(self, pod: deployed.DeployedPod, path: str, *keys: str) -> None:
        for key in keys:
            data = (self.folder / "secret" / key).read_bytes()
            (pathlib.Path(pod.here(path)) / key).write_bytes(data)

    def test_brokers_of_production_speak_tls_and_ask_for_passwords(self) -> None:
        self.decided: set[str] = set()
        self.make_brokers_secret()
        self.start_brokers("production")
        for broker in self.pods:
            with socket.create_connection(("127.0.0.1", broker.ports[4222])) as client:
                info = json.loads(client.makefile().readline().removeprefix("INFO "))
            self.assertTrue(info["tls_required"])
            self.assertTrue(info["auth_required"])
        consumer = self.deploy("production", "sortition-consumer", 0)
        self.copy_secret(consumer, "/etc/sortition-brokers", "ca.pem", "consumer")
        consumer.start("consumer", "--join.reward_wait_time_seconds=2")
        server = self.deploy("production", "sortition", 0)
        self.copy_secret(server, "/etc/sortition-brokers", "ca.pem", "publisher")
        # Without TLS of its own, so that the client needs none.
        words = [w for w in server.command("server") if "tls." not in w and "token_file" not in w]
        server.command = lambda container, command=server.command: (
            [w for w in words if w != "--require_model"]
            if container == "server"
            else command(container)
        )
        server.start("sidecar")
        self.wait_for(server, "sidecar", "liveness")
        server.start("server")
        self.wait_for(server, "server", "startup")
        self.decide(server, "over-tls")
        tuples = consumer.here("/var/lib/sortition/tuples/joined")
        deployed.poll_until(
            f"a tuple, log in {consumer.folder}",
            lambda: set(self.rewards(tuples)) == self.decided,
        )
        # Whoever has no password of the Secret publishes nothing.
        server.terminate("sidecar")
        pathlib.Path(server.here("/etc/sortition-brokers/publisher")).write_text("guesses")
        server.start("sidecar")
        deployed.poll_until("a refusal", lambda: "uthorization" in server.log("sidecar"))

    def test_probes_work_with_tls_and_tokens(self) -> None:
        pod = self.deploy("production", "sortition", 0)
        identity = rendered.ROOT / "deploy" / "examples" / "identity"
        secrets = pathlib.Path(pod.here("/etc/sortition-identity"))
        subprocess.run(
            [str(identity / "make_certificates.sh")], cwd=secrets, capture_output=True, check=True
        )
        (secrets / "tokens").write_bytes((identity / "tokens").read_bytes())
        pod.start("server")
        self.wait_for(pod, "server", "startup")
        self.wait_for(pod, "server", "liveness")
        # With --require_model it lives and is not ready until there is a model.
        self.assertFalse(probes.succeeds(pod, "server", "readiness"))
        data = self.folder / "labelled.letor"
        data.write_text("".join(f"{i % 2} qid:{i // 4} 1:{i % 4} 2:{i % 3}\n" for i in range(40)))
        store = pod.here("/var/lib/sortition/models/store")
        fit = ["fit", f"--data={data}", f"--model_store={store}", "--action=rank"]
        subprocess.run(
            [str(self.binaries / "sortition-trainer"), *fit], capture_output=True, check=True
        )
        self.wait_for(pod, "server", "readiness")
        self.assertEqual(pod.terminate("server"), 0)
        self.assertFalse(probes.succeeds(pod, "server", "liveness"))


if __name__ == "__main__":
    rendered.require_tools()
    ProcessesTest.binaries = deployed.binaries_of(sys.argv)
    try:
        import grpc  # noqa: F401
    except ImportError:
        rendered.skip("no python3-grpcio")
    if not os.access(deployed.BROKER, os.X_OK):
        rendered.skip("no nats-server")
    unittest.main(verbosity=2)
