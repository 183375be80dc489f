"""Volumes, memory and options fit each other, in every pod and from one to the next."""

import re
import sys
import unittest

import configured
import rendered

sys.path.insert(0, str(rendered.ROOT / "tools"))
import size_disks  # noqa: E402

MIB = 2**20
# The load of docs/backup.md, "How large disks must be".
DECISIONS_PER_SECOND, BYTES = 20, 2100


def claim_of(pod: rendered.Pod, volume: str) -> rendered.Resource:
    """Returns the claim behind a volume of `pod`."""
    found = pod.volume(volume)
    if "claim" in found:
        return found["claim"]
    name = found["persistentVolumeClaim"]["claimName"]
    return rendered.of_kind(pod.overlay, "PersistentVolumeClaim")[name]


def bytes_of(claim: rendered.Resource) -> float:
    return rendered.size_of(claim["spec"]["resources"]["requests"]["storage"])


def mount_of(container: rendered.Resource, path: str) -> rendered.Resource | None:
    """Returns the mount below which `path` is, but not at its root."""
    mounts = container.get("volumeMounts", [])
    return next((m for m in mounts if path.startswith(m["mountPath"] + "/")), None)


class VolumesTest(unittest.TestCase):
    def test_mounts_volumes_claims_and_files_are_there(self) -> None:
        for pod in rendered.all_pods():
            maps = rendered.of_kind(pod.overlay, "ConfigMap")
            claims = rendered.of_kind(pod.overlay, "PersistentVolumeClaim")
            files = rendered.config_files(pod)
            mounted = set(pod.claims)
            for container in pod.containers:
                for mount in container["volumeMounts"]:
                    self.assertIsNotNone(pod.volume(mount["name"]), f"{pod}: {mount}")
                    mounted.add(mount["name"])
                words = " ".join(container.get("command", []) + container.get("args", []))
                for path in re.findall(r"/etc/(?:sortition|nats)/\S+", words):
                    self.assertIn(path, files)
            for volume in pod.spec.get("volumes", []):
                self.assertIn(volume["name"], mounted)
                if "configMap" in volume:
                    self.assertIn(volume["configMap"]["name"], maps)
                if "persistentVolumeClaim" in volume:
                    self.assertIn(volume["persistentVolumeClaim"]["claimName"], claims)

    def test_spools_outlive_their_pods(self) -> None:
        kept = {"whenDeleted": "Retain", "whenScaled": "Retain"}
        for overlay in rendered.OVERLAYS:
            for resource in rendered.of_kind(overlay, "StatefulSet").values():
                policy = resource["spec"]["persistentVolumeClaimRetentionPolicy"]
                self.assertEqual(policy, kept)
            pod = rendered.pods(overlay)["sortition"]
            for name in ("server", "sidecar"):
                mount = mount_of(pod.container(name), configured.server(overlay).spool.dir)
                self.assertIn(mount["name"], pod.claims)
                self.assertFalse(mount.get("readOnly", False))

    def test_programs_write_where_they_may(self) -> None:
        for overlay in rendered.OVERLAYS:
            pods, joiner = rendered.pods(overlay), configured.joiner(overlay)
            trainer = configured.options(overlay, "sortition-train", "trainer.textproto")
            joins = ("sortition-consumer", "consumer")
            if overlay == "single":
                joins = ("sortition", "sidecar")
            written = [("sortition", "server", configured.server(overlay).model_store)]
            written += [(*joins, path) for path in (joiner.tuples, joiner.mirror) if path]
            for name in ("sortition-train", "sortition-rollout"):
                written.append((name, "trainer", trainer.model_store))
            mounts = [mount_of(pods[p].container(c), path) for p, c, path in written]
            for mount in mounts:
                self.assertFalse(mount.get("readOnly", False))
            # A volume of its own is enough for the scratch file.
            scratch = trainer.scratch
            mounts = pods["sortition-train"].container("trainer")["volumeMounts"]
            volume = next(m["name"] for m in mounts if m["mountPath"] == scratch)
            size = pods["sortition-train"].volume(volume)["emptyDir"]["sizeLimit"]
            self.assertLess(trainer.scratch_mb * MIB, rendered.size_of(size))

    def test_all_servers_and_trainers_share_one_store(self) -> None:
        for overlay in rendered.OVERLAYS:
            pods = rendered.pods(overlay)
            names = ("sortition", "sortition-train", "sortition-rollout")
            claims = [claim_of(pods[name], "models") for name in names]
            self.assertEqual(claims, [claims[0]] * 3)
            mode = "ReadWriteOnce" if overlay == "single" else "ReadWriteMany"
            self.assertEqual(claims[0]["spec"]["accessModes"], [mode])

    def test_trainer_runs_where_the_tuples_are(self) -> None:
        for overlay in rendered.OVERLAYS:
            pods = rendered.pods(overlay)
            writer = pods["sortition" if overlay == "single" else "sortition-consumer"]
            self.assertEqual(
                rendered.of_kind(overlay, "StatefulSet")[writer.name]["spec"]["replicas"], 1
            )
            for name in ("sortition-train", "sortition-rollout"):
                self.assertEqual(claim_of(pods[name], "tuples"), claim_of(writer, "tuples"))
                terms = pods[name].spec["affinity"]["podAffinity"]
                (term,) = terms["requiredDuringSchedulingIgnoredDuringExecution"]
                self.assertEqual(term["topologyKey"], "kubernetes.io/hostname")
                near = [
                    pod.name
                    for pod in pods.values()
                    if rendered.selects(term["labelSelector"], pod.labels)
                ]
                self.assertEqual(near, [writer.name])

    def test_disks_hold_what_options_allow(self) -> None:
        for overlay in rendered.OVERLAYS:
            pods, spool = rendered.pods(overlay), configured.server(overlay).spool
            disk = bytes_of(claim_of(pods["sortition"], "spool"))
            self.assertGreater(disk, spool.max_bytes + 2 * spool.segment_bytes)
            joiner = configured.joiner(overlay)
            writer = pods["sortition" if overlay == "single" else "sortition-consumer"]
            disk = bytes_of(claim_of(writer, "tuples"))
            self.assertLess(joiner.keep_tuples_bytes, 0.9 * disk)
            if overlay == "single":
                continue
            publish = configured.publisher(overlay).publish
            self.assertLessEqual(4 * publish.keep_bytes, spool.max_bytes)
            conf = rendered.config_files(pods["sortition-nats"])["/etc/nats/nats.conf"]
            store = 1e9 * int(re.search(r"max_file_store: (\d+)GB", conf).group(1))
            self.assertGreater(store, publish.max_bytes)
            self.assertGreater(bytes_of(claim_of(pods["sortition-nats"], "data")), store)

    def test_options_keep_what_the_trainer_looks_back_at(self) -> None:
        for overlay in rendered.OVERLAYS:
            trainer = configured.options(overlay, "sortition-train", "trainer.textproto")
            days = float(re.fullmatch(r"(\d+)d", trainer.since).group(1))
            needed = size_disks.sizes(DECISIONS_PER_SECOND, BYTES, since_days=days)
            joiner = configured.joiner(overlay)
            self.assertGreaterEqual(joiner.keep_tuples_seconds, needed["keep_tuples_seconds"])
            self.assertGreaterEqual(joiner.keep_tuples_bytes, needed["keep_tuples_bytes"])
            spool = configured.server(overlay).spool
            self.assertGreaterEqual(spool.max_bytes, needed["spool.max_bytes"])
            if overlay == "single":
                continue
            # A day of the stream, as long as the consumer may be down.
            publish = configured.publisher(overlay).publish
            self.assertGreaterEqual(publish.max_bytes, needed["spool.max_bytes"])
            retained = joiner.consume.retain_seconds * DECISIONS_PER_SECOND * BYTES
            self.assertLess(retained, 0.75 * publish.max_bytes)

    def test_memory_holds_what_options_allow(self) -> None:
        for overlay in rendered.OVERLAYS:
            server, options = rendered.pods(overlay)["sortition"], configured.server(overlay)
            # Versions that are swapped are there twice; gRPC takes twice its limit.
            needed = 2 * options.model_memory_bytes + 2 * options.limits.memory_bytes
            needed += options.shadow_queue_bytes + options.admission.work_bytes
            limit = server.container("server")["resources"]["limits"]["memory"]
            self.assertLess(needed, rendered.size_of(limit))
            trainer = configured.options(overlay, "sortition-train", "trainer.textproto")
            train = rendered.pods(overlay)["sortition-train"].container("trainer")
            limit = train["resources"]["limits"]["memory"]
            self.assertLess(1.5 * trainer.memory_mb * MIB, rendered.size_of(limit))


class LockedTest(unittest.TestCase):
    """What the level "restricted" of Kubernetes demands, and a root that is read-only."""

    def test_containers_may_do_nothing_beside_their_work(self) -> None:
        for pod in rendered.all_pods():
            security = pod.spec["securityContext"]
            self.assertTrue(security["runAsNonRoot"])
            self.assertEqual(security["runAsUser"], 10001)
            self.assertEqual(security["seccompProfile"], {"type": "RuntimeDefault"})
            accounts = rendered.of_kind(pod.overlay, "ServiceAccount")
            self.assertIn(pod.spec["serviceAccountName"], accounts)
            self.assertFalse(pod.spec["automountServiceAccountToken"])
            for container in pod.containers:
                locked = container["securityContext"]
                self.assertTrue(locked["readOnlyRootFilesystem"])
                self.assertFalse(locked["allowPrivilegeEscalation"])
                self.assertEqual(locked["capabilities"], {"drop": ["ALL"]})
                resources = container["resources"]
                self.assertEqual(set(resources["limits"]), {"memory", "ephemeral-storage"})
                self.assertEqual(
                    set(resources["requests"]), {"cpu", "memory", "ephemeral-storage"}
                )
                # Volumes on the disk of the node count.
                volumes = [
                    rendered.size_of(volume["emptyDir"]["sizeLimit"])
                    for volume in pod.spec.get("volumes", [])
                    if "emptyDir" in volume and volume["emptyDir"].get("medium") != "Memory"
                ]
                size = rendered.size_of(resources["requests"]["ephemeral-storage"])
                self.assertLess(sum(volumes), size)
                self.assertLess(size, rendered.size_of(resources["limits"]["ephemeral-storage"]))

    def test_user_is_that_of_the_image(self) -> None:
        dockerfile = (rendered.ROOT / "Dockerfile").read_text()
        self.assertRegex(dockerfile, r"\nUSER 10001:10001\n")

    def test_namespace_enforces_it(self) -> None:
        for overlay in rendered.OVERLAYS:
            (namespace,) = rendered.of_kind(overlay, "Namespace").values()
            labels = namespace["metadata"]["labels"]
            self.assertEqual(labels["pod-security.kubernetes.io/enforce"], "restricted")
            for resource in rendered.render(overlay):
                if resource["kind"] != "Namespace":
                    name = resource["metadata"]["namespace"]
                    self.assertEqual(name, namespace["metadata"]["name"])

    def test_images_have_versions(self) -> None:
        cmake = (rendered.ROOT / "CMakeLists.txt").read_text()
        ours = re.search(r"project\(sortition VERSION (\S+) ", cmake).group(1)
        for pod in rendered.all_pods():
            for container in pod.containers:
                if pod.overlay == "production":
                    self.assertRegex(container["image"], r"^registry\.example/\w+@sha256:[0-9a-f]{64}$")
                    continue
                name, tag = container["image"].rsplit(":", 1)
                self.assertRegex(tag, r"^\d+\.\d+\.\d+$")
                if name.endswith("sortition"):
                    self.assertEqual(tag, ours)


class JoinTest(unittest.TestCase):
    def test_learns_what_the_examples_learn(self) -> None:
        examples = rendered.ROOT / "deploy" / "examples"
        for overlay in rendered.OVERLAYS:
            server, joiner = configured.server(overlay), configured.joiner(overlay)
            example = examples / "sidecar.textproto"
            join = configured.parse(str(example), example.read_text()).join
            self.assertEqual(joiner.join, join)
            self.assertEqual(server.feedback.reward_min, join.reward_min)
            self.assertEqual(server.feedback.reward_max, join.reward_max)
            example = examples / "trainer.textproto"
            trainer = configured.options(overlay, "sortition-train", "trainer.textproto")
            train = configured.parse(str(example), example.read_text())
            self.assertEqual((trainer.plan, trainer.poem), (train.plan, train.poem))
            self.assertEqual((trainer.parts, trainer.since), (train.parts, train.since))

    def test_each_process_finds_what_the_one_before_writes(self) -> None:
        for overlay in rendered.OVERLAYS:
            server, joiner = configured.server(overlay), configured.joiner(overlay)
            reader = joiner if overlay == "single" else configured.publisher(overlay)
            self.assertEqual(list(reader.spool), [server.spool.dir])
            for name, file in (("sortition-train", "trainer"), ("sortition-rollout", "rollout")):
                trainer = configured.options(overlay, name, f"{file}.textproto")
                self.assertEqual(trainer.tuples, joiner.tuples)
                self.assertEqual(trainer.model_store, server.model_store)
                self.assertEqual(trainer.model, server.default_model)


if __name__ == "__main__":
    rendered.require_tools()
    configured.require_tools()
    unittest.main(verbosity=2)
