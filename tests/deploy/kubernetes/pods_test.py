"""Pods keep what docs/howto/kubernetes.md promises: drain, disruption, storage, identity."""

import re
import unittest
from typing import Any

import configured
import rendered

REPLICATED = ("replicas", "production")
# What the programs themselves take beside their options, seconds: the server sees that no
# request comes any more (1) and finishes views of shadows (5); a publishing sidecar sends
# the rest (5, kDrainUs in sidecar/run_stream.cc).
SERVER_ENDS, SIDECAR_ENDS = 6, 5


def port_numbers(pod: rendered.Pod) -> dict[str, int]:
    return {p["name"]: p["containerPort"] for c in pod.containers for p in c.get("ports", [])}


def port_of(address: str) -> int:
    return int(address.rsplit(":", 1)[1])


def pre_stop_seconds(container: dict[str, Any]) -> int:
    """Returns how long a hook sleeps; one that runs a command must come back at once."""
    return container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)


class DrainTest(unittest.TestCase):
    def test_grace_is_longer_than_the_drain_of_all_containers(self) -> None:
        for overlay in rendered.OVERLAYS:
            pod = rendered.pods(overlay)["sortition"]
            options = configured.server(overlay)
            needed = pre_stop_seconds(pod.container("server")) + SERVER_ENDS + SIDECAR_ENDS
            needed += options.drain_grace_seconds + options.drain_seconds
            with self.subTest(overlay):
                self.assertLess(needed, pod.spec["terminationGracePeriodSeconds"])
                # Five seconds for clients, after a probe period and as many failures as it takes.
                probe = pod.container("server")["readinessProbe"]
                seen = probe["periodSeconds"] * probe["failureThreshold"]
                self.assertLessEqual(seen, options.drain_grace_seconds - 2)

    def test_sidecar_ends_after_the_server(self) -> None:
        for overlay in rendered.OVERLAYS:
            sidecars = rendered.pods(overlay)["sortition"].spec["initContainers"]
            self.assertEqual([c["name"] for c in sidecars], ["sidecar"])
            self.assertEqual(sidecars[0]["restartPolicy"], "Always")

    def test_brokers_give_up_what_they_lead(self) -> None:
        for overlay in REPLICATED:
            pod = rendered.pods(overlay)["sortition-nats"]
            conf = rendered.config_files(pod)["/etc/nats/nats.conf"]
            seconds = [int(s) for s in re.findall(r'lame_duck_\w+: "(\d+)s"', conf)]
            self.assertEqual(len(seconds), 2)
            self.assertLess(sum(seconds), pod.spec["terminationGracePeriodSeconds"])
            hook = pod.container("nats")["lifecycle"]["preStop"]["exec"]["command"]
            pid_file = re.search(r'pid_file: "(.+)"', conf).group(1)
            self.assertEqual(hook[-2:], ["--signal", f"ldm={pid_file}"])


class ProbesTest(unittest.TestCase):
    def test_ports_are_those_that_programs_listen_on(self) -> None:
        for overlay in rendered.OVERLAYS:
            pod, options = rendered.pods(overlay)["sortition"], configured.server(overlay)
            ports = port_numbers(pod)
            self.assertEqual(ports["grpc"], port_of(options.listen))
            self.assertEqual(ports["metrics"], port_of(options.metrics_listen))
            sidecar = configured.joiner if overlay == "single" else configured.publisher
            listen = sidecar(overlay).metrics_listen
            self.assertEqual(ports["sidecar-metrics"], port_of(listen))
        for overlay in REPLICATED:
            ports = port_numbers(rendered.pods(overlay)["sortition-consumer"])
            joiner = configured.joiner(overlay)
            self.assertEqual(ports["metrics"], port_of(joiner.metrics_listen))
            self.assertEqual(ports["http"], port_of(joiner.http_listen))
        for overlay in REPLICATED:
            pod = rendered.pods(overlay)["sortition-nats"]
            conf = rendered.config_files(pod)["/etc/nats/nats.conf"]
            found = [int(port) for port in re.findall(r'(?:listen|http): "0\.0\.0\.0:(\d+)"', conf)]
            self.assertCountEqual(found, port_numbers(pod).values())

    def test_page_shows_the_figures_of_the_sidecar_that_joins(self) -> None:
        listen = configured.joiner("single").http_listen
        self.assertEqual(configured.server("single").http.sidecar, listen)
        for overlay in REPLICATED:
            port = port_of(configured.joiner(overlay).http_listen)
            server = rendered.pods(overlay)["sortition"].container("server")
            self.assertIn(f"--http.sidecar=sortition-consumer:{port}", server["args"])

    def test_ask_ports_and_services_that_there_are(self) -> None:
        protos = "".join(p.read_text() for p in rendered.ROOT.glob("proto/sortition/v1/*.proto"))
        asked = 0
        for pod in rendered.all_pods():
            ports = port_numbers(pod)
            for container in pod.containers:
                for name in ("startupProbe", "readinessProbe", "livenessProbe"):
                    probe = container.get(name, {})
                    if "grpc" in probe:
                        self.assertIn(probe["grpc"]["port"], ports.values())
                        package, service = probe["grpc"]["service"].rsplit(".", 1)
                        self.assertEqual(package, "sortition.v1")
                        self.assertIn(f"\nservice {service} {{", protos)
                    elif "httpGet" in probe:
                        self.assertIn(probe["httpGet"]["port"], ports)
                    elif "exec" in probe:
                        listen = configured.server(pod.overlay).http.listen
                        command = probe["exec"]["command"]
                        if command[0] == "sortition-health":
                            script = rendered.ROOT / "deploy/container/sortition-health"
                            self.assertIn("8502/metrics", script.read_text())
                            self.assertIn(8502, ports.values())
                        else:
                            self.assertIn(f"http://{listen}/", command[-1])
                    asked += len(probe) > 0
        self.assertGreater(asked, 15)

    def test_give_up_before_the_kubelet_does(self) -> None:
        """The default of a timeout is one second, which a busy node may need."""
        for pod in rendered.all_pods():
            for container in pod.containers:
                for name in ("startupProbe", "readinessProbe", "livenessProbe"):
                    if name not in container:
                        continue
                    probe = container[name]
                    self.assertGreaterEqual(probe["timeoutSeconds"], 2, f"{pod}: {name}")
                    inner = re.search(r"\btimeout (\d+) wget", str(probe.get("exec", "")))
                    if inner:
                        # kHealthPatience in server/http/http_port.cc < wget < kubelet.
                        self.assertLess(2, int(inner.group(1)))
                        self.assertLess(int(inner.group(1)), probe["timeoutSeconds"])

    def test_liveness_asks_what_hangs(self) -> None:
        """A port of pages and metrics answers while the thread behind it waits for a disk."""
        for overlay in rendered.OVERLAYS:
            pods = rendered.pods(overlay)
            joins = [("sortition", "sidecar")]
            if overlay != "single":
                joins.append(("sortition-consumer", "consumer"))
            for pod, container in joins:
                probe = pods[pod].container(container)["livenessProbe"]
                self.assertEqual(probe["exec"]["command"], ["sortition-health", "alive"])
            server = pods["sortition"].container("server")["livenessProbe"]
            self.assertTrue("grpc" in server or "/livez" in server["exec"]["command"][-1])

    def test_of_grpc_are_gone_where_the_port_speaks_tls(self) -> None:
        for pod in rendered.all_pods():
            for container in pod.containers:
                has_tls = any("--tls." in word for word in container.get("args", []))
                probes = [container.get(f"{name}Probe", {}) for name in ("startup", "readiness")]
                self.assertFalse(has_tls and any("grpc" in probe for probe in probes))

    def test_full_disk_does_not_restart_the_server(self) -> None:
        for overlay in ("single", "replicas"):
            server = rendered.pods(overlay)["sortition"].container("server")
            self.assertEqual(server["livenessProbe"]["grpc"]["service"], "sortition.v1.Models")
            self.assertEqual(server["readinessProbe"]["grpc"]["service"], "sortition.v1.Ranking")
        server = rendered.pods("production")["sortition"].container("server")
        self.assertIn(":8503/livez", server["livenessProbe"]["exec"]["command"][-1])
        self.assertIn(":8503/readyz", server["readinessProbe"]["exec"]["command"][-1])


class DisruptionTest(unittest.TestCase):
    def test_budget_of_each_set_of_replicas(self) -> None:
        for overlay in rendered.OVERLAYS:
            budgets = rendered.of_kind(overlay, "PodDisruptionBudget")
            for name, pod in rendered.pods(overlay).items():
                matching = [
                    budget
                    for budget in budgets.values()
                    if rendered.selects(budget["spec"]["selector"], pod.labels)
                ]
                expected = [] if pod.kind == "CronJob" or "consumer" in name else [budgets[name]]
                self.assertEqual(matching, expected)
            self.assertEqual({b["spec"]["maxUnavailable"] for b in budgets.values()}, {1})

    def test_replicas_are_spread_over_nodes(self) -> None:
        for pod in rendered.all_pods():
            for spread in pod.spec.get("topologySpreadConstraints", []):
                self.assertTrue(rendered.selects(spread["labelSelector"], pod.labels))
        for overlay in REPLICATED:
            for name in ("sortition", "sortition-nats"):
                spreads = rendered.pods(overlay)[name].spec["topologySpreadConstraints"]
                keys = [spread["topologyKey"] for spread in spreads]
                self.assertIn("kubernetes.io/hostname", keys)

    def test_brokers_are_as_many_as_copies_of_the_stream(self) -> None:
        for overlay in REPLICATED:
            brokers = rendered.of_kind(overlay, "StatefulSet")["sortition-nats"]["spec"]["replicas"]
            self.assertEqual(configured.publisher(overlay).publish.replicas, brokers)


class JobsTest(unittest.TestCase):
    def test_a_pod_that_makes_way_is_no_failure(self) -> None:
        for overlay in rendered.OVERLAYS:
            jobs = rendered.of_kind(overlay, "CronJob")
            self.assertEqual(set(jobs), {"sortition-train", "sortition-rollout"})
            for job in jobs.values():
                spec = job["spec"]["jobTemplate"]["spec"]
                self.assertEqual(spec["backoffLimit"], 0)
                (rule,) = spec["podFailurePolicy"]["rules"]
                self.assertEqual(rule["action"], "Ignore")
                self.assertEqual(rule["onPodConditions"], [{"type": "DisruptionTarget"}])
                # Kubernetes refuses the policy with any other.
                self.assertEqual(spec["template"]["spec"]["restartPolicy"], "Never")


class BrokersTest(unittest.TestCase):
    """In production nobody without a password reaches the stream, or reads it on the way."""

    def conf(self) -> str:
        pod = rendered.pods("production")["sortition-nats"]
        return rendered.config_files(pod)["/etc/nats/nats.conf"]

    def test_clients_and_brokers_speak_tls(self) -> None:
        for block in (r"^tls \{", r"^cluster \{\n(?:  .*\n)*?  tls \{"):
            self.assertRegex(self.conf(), re.compile(block, re.MULTILINE))
        self.assertNotIn("verify: false", self.conf())

    def test_each_user_has_the_rights_of_the_document(self) -> None:
        text = (rendered.ROOT / "docs/streams.md").read_text()
        stream = configured.publisher("production").publish.stream
        for user in ("publisher", "consumer"):
            cell = re.search(rf"^\| {user} \| (.*?) \| `_INBOX.>` \|$", text, re.MULTILINE).group(1)
            words = re.findall(r"`([^`]+)`", cell)
            prefix = next(word for word in words if word == "$JS.API.STREAM.")
            calls = words[words.index(prefix) + 1 :]
            # One user for all servers, because their number changes.
            words = [word.replace(".<writer_id>", ".>") for word in words]
            expected = {word.replace("<stream>", stream) for word in words[: words.index(prefix)]}
            expected |= {f"{prefix}{call}.{stream}" for call in calls if not call.startswith(".")}
            block = self.conf().split(f"user: {user},")[1].split("subscribe:")[0]
            self.assertEqual(set(re.findall(r'"([^"]+)"', block)), expected)

    def test_passwords_come_from_a_secret(self) -> None:
        pods = rendered.pods("production")
        nats = pods["sortition-nats"].container("nats")
        for user, pod, container in (
            ("publisher", "sortition", "sidecar"),
            ("consumer", "sortition-consumer", "consumer"),
        ):
            name = f"{user.upper()}_PASSWORD"
            self.assertIn(f"user: {user}, password: ${name}\n", self.conf())
            (variable,) = [e for e in nats["env"] if e["name"] == name]
            secret = {"name": "sortition-brokers", "key": user}
            self.assertEqual(variable["valueFrom"], {"secretKeyRef": secret})
            args = pods[pod].container(container)["args"]
            self.assertIn(f"--nats.user={user}", args)
            self.assertIn(f"--nats.password_file=/etc/sortition-brokers/{user}", args)
            self.assertIn("--nats.ca_file=/etc/sortition-brokers/ca.pem", args)
            items = pods[pod].volume("brokers")["secret"]["items"]
            # The other password and the key of the brokers stay away.
            self.assertEqual({item["key"] for item in items}, {"ca.pem", user})


class IdentityTest(unittest.TestCase):
    def test_each_server_writes_under_the_name_of_its_pod(self) -> None:
        for overlay in rendered.OVERLAYS:
            server = rendered.pods(overlay)["sortition"].container("server")
            self.assertIn("--spool.writer_id=$(POD_NAME)", server["args"])
            self.assert_knows_its_name(server)
        for overlay in REPLICATED:
            pod = rendered.pods(overlay)["sortition-nats"]
            self.assert_knows_its_name(pod.container("nats"))
            conf = rendered.config_files(pod)["/etc/nats/nats.conf"]
            self.assertIn("\nserver_name: $POD_NAME\n", conf)

    def assert_knows_its_name(self, container: dict[str, Any]) -> None:
        field = {"fieldRef": {"fieldPath": "metadata.name"}}
        self.assertIn({"name": "POD_NAME", "valueFrom": field}, container["env"])

    def test_names_of_pods_resolve(self) -> None:
        for overlay in rendered.OVERLAYS:
            for name, resource in rendered.of_kind(overlay, "StatefulSet").items():
                service = rendered.of_kind(overlay, "Service")[resource["spec"]["serviceName"]]
                self.assertEqual(service["spec"]["clusterIP"], "None")
                pod = rendered.pods(overlay)[name]
                self.assertTrue(
                    rendered.selects({"matchLabels": service["spec"]["selector"]}, pod.labels)
                )
                self.assertTrue(rendered.selects(resource["spec"]["selector"], pod.labels))

    def test_programs_name_all_brokers(self) -> None:
        for overlay in REPLICATED:
            pod = rendered.pods(overlay)["sortition-nats"]
            brokers = rendered.of_kind(overlay, "StatefulSet")["sortition-nats"]["spec"]["replicas"]
            hosts = [f"sortition-nats-{i}.sortition-nats" for i in range(brokers)]
            ports = port_numbers(pod)
            url = ",".join(f"nats://{host}:{ports['client']}" for host in hosts)
            self.assertEqual(configured.publisher(overlay).publish.url, url)
            self.assertEqual(configured.joiner(overlay).consume.url, url)
            conf = rendered.config_files(pod)["/etc/nats/nats.conf"]
            routes = re.search(r"routes: \[(.*)\]", conf).group(1)
            expected = [f'"nats://{host}:{ports["cluster"]}"' for host in hosts]
            self.assertEqual(routes.split(", "), expected)

    def test_one_consumer_and_never_two(self) -> None:
        for overlay in REPLICATED:
            consumer = rendered.of_kind(overlay, "StatefulSet")["sortition-consumer"]["spec"]
            self.assertEqual(consumer["replicas"], 1)
            joiner, publisher = configured.joiner(overlay), configured.publisher(overlay)
            self.assertEqual(joiner.consume.stream, publisher.publish.stream)
            self.assertEqual(list(joiner.spool), [joiner.mirror + "/*"])


if __name__ == "__main__":
    rendered.require_tools()
    configured.require_tools()
    unittest.main(verbosity=2)
