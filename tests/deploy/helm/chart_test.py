"""The profiles of the Helm chart install what the overlays of the same names do.

Every value reaches its resource, and a wrong value is an error that names it.
"""

import copy
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "kubernetes"))
import rendered  # noqa: E402

KEEP = "helm.sh/resource-policy"
CHECKSUM = "checksum/config"


def by_name(resources: list[rendered.Resource]) -> dict[str, rendered.Resource]:
    return {f"{r['kind']}/{r['metadata']['name']}": r for r in resources}


def sorted_lists(value: Any) -> Any:
    """Returns `value` with lists of named objects sorted, because Kubernetes ignores their order."""
    if isinstance(value, dict):
        return {key: sorted_lists(member) for key, member in value.items()}
    if not isinstance(value, list):
        return value
    items = [sorted_lists(item) for item in value]
    if items and all(isinstance(item, dict) and "name" in item for item in items):
        items.sort(key=lambda item: item["name"])
    return items


def as_chart(overlay: str) -> dict[str, rendered.Resource]:
    """Returns the resources of an overlay under the names that the chart gives them."""
    resources = [r for r in rendered.kustomized(overlay) if r["kind"] != "Namespace"]
    text = json.dumps(resources)
    for resource in resources:
        if resource["kind"] == "ConfigMap":
            hashed = resource["metadata"]["name"]
            text = text.replace(f'"{hashed}"', f'"{re.sub("-[a-z0-9]{10}$", "", hashed)}"')
    return by_name(json.loads(text))


def values_file(folder: str, values: Any) -> pathlib.Path:
    """Writes values as JSON, which is YAML."""
    path = pathlib.Path(folder) / "values.yaml"
    path.write_text(json.dumps(values))
    return path


class ChartCase(unittest.TestCase):
    def render(self, profile: str, values: Any) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as folder:
            own = values_file(folder, values)
            return rendered.render_chart("sortition", rendered.profile_file(profile), own)

    def resources(self, profile: str, values: Any) -> dict[str, rendered.Resource]:
        import yaml

        done = self.render(profile, values)
        self.assertEqual(done.returncode, 0, done.stderr)
        return by_name(list(yaml.safe_load_all(done.stdout)))


class ProfilesTest(ChartCase):
    def setUp(self) -> None:
        self.maxDiff = None

    def without_annotations(self, chart: dict[str, Any]) -> dict[str, Any]:
        """Checks which resources have annotations of the chart, and returns `chart` without them."""
        chart = copy.deepcopy(chart)
        kept, replaced = set(), set()
        for name, resource in chart.items():
            template = resource.get("spec", {}).get("template", {})
            for metadata, key, found in (
                (resource["metadata"], KEEP, kept),
                (template.get("metadata", {}), CHECKSUM, replaced),
            ):
                if key in metadata.get("annotations", {}):
                    found.add(name)
                    del metadata["annotations"][key]
                    if not metadata["annotations"]:
                        del metadata["annotations"]
        claims = {f"PersistentVolumeClaim/sortition-{name}" for name in ("models", "tuples")}
        self.assertEqual(kept, claims)
        self.assertEqual(replaced, {name for name in chart if name.startswith("StatefulSet/")})
        return chart

    def test_install_what_overlays_do(self) -> None:
        try:
            rendered.require_kustomize()
        except SystemExit:
            self.skipTest("no overlays to compare with")
        for overlay in rendered.OVERLAYS:
            expected = as_chart(overlay)
            found = self.without_annotations(by_name(rendered.charted(overlay)))
            self.assertEqual(set(found), set(expected))
            for name, resource in expected.items():
                with self.subTest(f"{overlay}: {name}"):
                    self.assertEqual(sorted_lists(found[name]), sorted_lists(resource))

    def test_render_as_helm_does(self) -> None:
        """Compares render.go with Helm, where Helm is installed."""
        import yaml

        if shutil.which("helm") is None:
            self.skipTest("no helm")
        for profile in rendered.OVERLAYS:
            namespace = f"--namespace={rendered.namespace_of(profile)}"
            values = f"--values={rendered.profile_file(profile)}"
            command = ["helm", "template", "sortition", rendered.CHART, namespace, values]
            text = subprocess.run(command, capture_output=True, check=True).stdout
            resources = by_name(list(yaml.safe_load_all(text)))
            self.assertEqual(resources, by_name(rendered.charted(profile)))

    def test_pods_are_replaced_when_their_files_change(self) -> None:
        def checksums(values: Any) -> dict[str, str]:
            resources = self.resources("replicas", values)
            names = ("sortition", "sortition-consumer", "sortition-nats")
            pods = {n: resources[f"StatefulSet/{n}"]["spec"]["template"] for n in names}
            return {n: pod["metadata"]["annotations"][CHECKSUM] for n, pod in pods.items()}

        before = checksums({})
        after = checksums({"config": {"server.textproto": 'listen: "0.0.0.0:8500"\n'}})
        changed = [name for name in before if before[name] != after[name]]
        # The server and the consumer share a ConfigMap.
        self.assertEqual(changed, ["sortition", "sortition-consumer"])


class ValuesTest(ChartCase):
    def test_each_has_a_line_in_the_readme(self) -> None:
        import yaml

        def leaves(value: Any, path: str) -> dict[str, Any]:
            if not isinstance(value, dict) or value == {} or path.endswith(".resources"):
                return {path: value}
            found = {}
            for key, member in value.items():
                found |= leaves(member, f"{path}.{key}".lstrip("."))
            return found

        values = leaves(yaml.safe_load((rendered.CHART / "values.yaml").read_text()), "")
        readme = (rendered.CHART / "README.md").read_text()
        rows = re.findall(r"^\| `([\w.]+)` \| `(.+?)` \|", readme, re.MULTILINE)
        # A text that begins with an asterisk is no YAML by itself.
        told = {name: text if text.startswith("*") else yaml.safe_load(text) for name, text in rows}
        self.assertEqual(told, values)

    def test_example_of_the_readme_does_what_it_claims(self) -> None:
        import yaml

        readme = (rendered.CHART / "README.md").read_text()
        block = re.search(r"nodes with a label:\n\n((?:    .*\n)+)", readme).group(1)
        resources = self.resources("production", yaml.safe_load(re.sub("(?m)^    ", "", block)))
        pod = resources["StatefulSet/sortition"]["spec"]["template"]["spec"]
        self.assertEqual(pod["nodeSelector"], {"disk": "ssd"})
        (server,) = pod["containers"]
        self.assertEqual(server["args"][-1], "--threads=2")
        # What is not named stays.
        self.assertEqual(server["args"][0], "--config=/etc/sortition/server.textproto")
        requests = {"cpu": "2", "memory": "2Gi", "ephemeral-storage": "128Mi"}
        self.assertEqual(server["resources"]["requests"], requests)
        pod = resources["StatefulSet/sortition-consumer"]["spec"]["template"]["spec"]
        (consumer,) = pod["containers"]
        self.assertEqual(consumer["args"][-1], "--join.reward_wait_time_seconds=3600")
        metrics = resources["HorizontalPodAutoscaler/sortition"]["spec"]["metrics"]
        self.assertEqual(metrics[1]["pods"]["target"]["averageValue"], "1200m")

    def test_reach_the_resources(self) -> None:
        """Each pair: values, and a text that the output has with them and has not without."""
        without = self.render("replicas", {}).stdout
        digest = "sha256:" + "a" * 64
        for values, text in (
            ({"image": {"tag": "9.9.9"}}, "image: sortition:9.9.9\n"),
            ({"image": {"tag": "9.9.9", "digest": digest}}, f"image: sortition@{digest}\n"),
            ({"nats": {"image": {"digest": digest}}}, f"image: nats@{digest}\n"),
            ({"imagePullSecrets": ["registry"]}, "imagePullSecrets:\n- name: registry\n"),
            ({"server": {"spool": {"size": "99Gi"}}}, "storage: 99Gi\n"),
            ({"server": {"spool": {"storageClass": "fast"}}}, "storageClassName: fast\n"),
            ({"consumer": {"mirror": {"size": "99Gi"}}}, "storage: 99Gi\n"),
            ({"consumer": {"mirror": {"storageClass": "fast"}}}, "storageClassName: fast\n"),
            ({"consumer": {"resources": {"limits": {"memory": "9Gi"}}}}, "memory: 9Gi\n"),
            ({"sidecar": {"args": ["--v=1"]}}, "- --v=1\n"),
            ({"sidecar": {"resources": {"limits": {"memory": "9Gi"}}}}, "memory: 9Gi\n"),
            ({"trainer": {"trainSchedule": "@daily"}}, "schedule: '@daily'\n"),
            ({"trainer": {"rolloutSchedule": "@daily"}}, "schedule: '@daily'\n"),
            ({"trainer": {"resources": {"limits": {"memory": "9Gi"}}}}, "memory: 9Gi\n"),
            ({"models": {"size": "99Gi"}}, "storage: 99Gi\n"),
            ({"models": {"storageClass": "fast"}}, "storageClassName: fast\n"),
            ({"tuples": {"size": "99Gi"}}, "storage: 99Gi\n"),
            ({"tuples": {"storageClass": "fast"}}, "storageClassName: fast\n"),
            ({"nats": {"data": {"size": "99Gi"}}}, "storage: 99Gi\n"),
            ({"nats": {"data": {"storageClass": "fast"}}}, "storageClassName: fast\n"),
            ({"nats": {"resources": {"limits": {"memory": "9Gi"}}}}, "memory: 9Gi\n"),
            ({"nats": {"secret": "mine"}}, "secretName: mine\n"),
            ({"identity": {"secret": "mine"}}, "secretName: mine\n"),
            ({"autoscaling": {"minReplicas": 2}}, "minReplicas: 2\n"),
            ({"autoscaling": {"maxReplicas": 20}}, "maxReplicas: 20\n"),
            ({"autoscaling": {"cpuPercent": 40}}, "averageUtilization: 40\n"),
            ({"monitoring": {"enabled": True, "labels": {"release": "mine"}}}, "release: mine\n"),
            ({"monitoring": {"namespace": "watch"}}, "metadata.name: watch\n"),
            ({"dns": {"namespace": "names"}}, "metadata.name: names\n"),
            ({"config": {"trainer.textproto": "l2: 1\n"}}, "l2: 1\n"),
        ):
            with self.subTest(values):
                done = self.render("replicas", values)
                self.assertEqual(done.stderr, "")
                self.assertEqual((text in without, text in done.stdout), (False, True))
        shared = self.resources("single", {"models": {"shared": True}})
        claim = shared["PersistentVolumeClaim/sortition-models"]
        self.assertEqual(claim["spec"]["accessModes"], ["ReadWriteMany"])

    def test_secrets_replace_the_names_of_components(self) -> None:
        values = {"nats": {"secret": "ours"}, "identity": {"secret": "mine"}}
        text = self.render("production", values).stdout
        self.assertEqual(set(re.findall(r"secretName: (\S+)", text)), {"ours", "mine"})
        references = re.findall(r"secretKeyRef:\n +key: \w+\n +name: (\S+)", text)
        self.assertEqual(references, ["ours", "ours"])

    def test_patches_merge_remove_and_append(self) -> None:
        sidecar = {"name": "sidecar", "livenessProbe": None, "args+": ["--last"]}
        spec = {"initContainers": [sidecar], "tolerations+": [{"operator": "Exists"}]}
        patch = {"StatefulSet/sortition": {"spec": {"template": {"spec": spec}}}}
        resources = self.resources("single", {"patches": patch})
        pod = resources["StatefulSet/sortition"]["spec"]["template"]["spec"]
        (found,) = pod["initContainers"]
        self.assertNotIn("livenessProbe", found)
        self.assertEqual(found["args"], ["--config=/etc/sortition/sidecar.textproto", "--last"])
        self.assertEqual(found["command"], ["sortition-sidecar"])
        self.assertEqual(pod["tolerations"], [{"operator": "Exists"}])

    def test_wrong_ones_are_refused_by_name(self) -> None:
        for values, name in (
            ({"profile": "three"}, "profile"),
            ({"replicas": 3}, "replicas"),
            ({"server": {"threads": 2}}, "threads"),
            ({"server": {"args": ["threads=2"]}}, "server.args.0"),
            ({"server": {"args": "--threads=2"}}, "server.args"),
            ({"server": {"resources": {"limits": {"memory": "4GB"}}}}, "resources.limits.memory"),
            ({"sidecar": {"resources": {"requests": {"cpu": "x"}}}}, "resources.requests.cpu"),
            ({"server": {"spool": {"size": 12}}}, "server.spool.size"),
            ({"models": {"shared": "yes"}}, "models.shared"),
            ({"image": {"digest": "sha256:123"}}, "image.digest"),
            ({"image": {"repository": ""}}, "image.repository"),
            ({"trainer": {"trainSchedule": "hourly"}}, "trainer.trainSchedule"),
            ({"autoscaling": {"minReplicas": 0}}, "autoscaling.minReplicas"),
            ({"autoscaling": {"minReplicas": 10}}, "autoscaling.minReplicas"),
            ({"autoscaling": {"cpuPercent": 0.6}}, "autoscaling.cpuPercent"),
            ({"nats": {"secret": "sortition-brokers"}}, "nats.secret"),
            ({"identity": {"secret": "Ours"}}, "identity.secret"),
            ({"monitoring": {"labels": {"release": 1}}}, "monitoring.labels.release"),
            ({"config": {"servers.textproto": "x"}}, "servers.textproto"),
            ({"config": {"consume.textproto": "x"}}, "consume.textproto"),
            ({"patches": {"StatefulSet/server": {}}}, "StatefulSet/server"),
            ({"image": {"repository": "our registry"}}, "image.repository"),
        ):
            with self.subTest(values):
                done = self.render("single", values)
                self.assertEqual(done.returncode, 1, done.stdout[:200])
                self.assertRegex(done.stderr, rf"(^|\W){re.escape(name)}\b")


if __name__ == "__main__":
    rendered.require_renderer()
    unittest.main(verbosity=2)
