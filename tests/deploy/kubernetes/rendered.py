"""Renders the overlays of deploy/kubernetes and finds things in them."""

import dataclasses
import json
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any, Iterator

ROOT = pathlib.Path(__file__).resolve().parents[3]
KUBERNETES = ROOT / "deploy" / "kubernetes"
OVERLAYS = ("single", "replicas", "production")

Resource = dict[str, Any]
_cache: dict[str, list[Resource]] = {}


def skip(reason: str) -> None:
    """Ends the program as ctest knows a skipped test."""
    print(f"skipped: {reason}; ./dev test --with kubernetes")
    sys.exit(77)


def require_tools() -> None:
    """Skips the test where the overlays cannot be rendered."""
    try:
        import yaml  # noqa: F401
    except ImportError:
        skip("no python3-yaml")
    if shutil.which("kubectl") is None:
        skip("no kubectl with kustomize 5 (https://kubernetes.io/docs/tasks/tools/)")
    version = subprocess.run(
        ["kubectl", "version", "--client", "--output=json"], capture_output=True, check=False
    ).stdout
    kustomize = json.loads(version or b"{}").get("kustomizeVersion", "none")
    if not re.match(r"v([5-9]|\d\d)\.", kustomize):
        skip(f"kubectl has kustomize {kustomize}, must be v5 or later")


def render(overlay: str) -> list[Resource]:
    """Returns the resources of `overlay`, as kubectl would apply them."""
    import yaml

    if overlay not in _cache:
        text = subprocess.run(
            ["kubectl", "kustomize", str(KUBERNETES / "overlays" / overlay)],
            capture_output=True,
            check=True,
        ).stdout
        _cache[overlay] = list(yaml.safe_load_all(text))
    return _cache[overlay]


def of_kind(overlay: str, kind: str) -> dict[str, Resource]:
    """Returns the resources of one kind by name."""
    return {r["metadata"]["name"]: r for r in render(overlay) if r["kind"] == kind}


@dataclasses.dataclass(frozen=True)
class Pod:
    """What the pods of one StatefulSet or CronJob look like."""

    overlay: str
    name: str  # Of what makes them.
    kind: str
    labels: dict[str, str]
    spec: Resource
    claims: dict[str, Resource]  # Of their own, by volume.

    @property
    def containers(self) -> list[Resource]:
        """The sidecars, then the others."""
        return self.spec.get("initContainers", []) + self.spec["containers"]

    def container(self, name: str) -> Resource:
        return next(c for c in self.containers if c["name"] == name)

    def volume(self, name: str) -> Resource | None:
        """Returns a volume, {"claim": …} for a claim of the pod's own, None if it has none."""
        if name in self.claims:
            return {"claim": self.claims[name]}
        return next((v for v in self.spec.get("volumes", []) if v["name"] == name), None)

    def __str__(self) -> str:
        return f"{self.overlay}: {self.name}"


def pods(overlay: str) -> dict[str, Pod]:
    """Returns the pods of `overlay` by the name of what makes them."""
    found = {}
    for resource in render(overlay):
        spec = resource.get("spec", {})
        if resource["kind"] == "CronJob":
            spec = spec["jobTemplate"]["spec"]
        if "template" not in spec:
            continue
        name = resource["metadata"]["name"]
        claims = {c["metadata"]["name"]: c for c in spec.get("volumeClaimTemplates", [])}
        template = spec["template"]
        found[name] = Pod(
            overlay,
            name,
            resource["kind"],
            template["metadata"]["labels"],
            template["spec"],
            claims,
        )
    return found


def all_pods() -> Iterator[Pod]:
    for overlay in OVERLAYS:
        yield from pods(overlay).values()


def selects(selector: Resource, labels: dict[str, str]) -> bool:
    """Says whether a label selector selects what has `labels`."""
    for key, value in selector.get("matchLabels", {}).items():
        if labels.get(key) != value:
            return False
    for expression in selector.get("matchExpressions", []):
        if expression["operator"] != "In":
            raise ValueError(f"operator = {expression['operator']}, must be In")
        if labels.get(expression["key"]) not in expression["values"]:
            return False
    return True


def config_files(pod: Pod) -> dict[str, str]:
    """Returns the files that `pod` gets from ConfigMaps, by their path in its containers."""
    maps = of_kind(pod.overlay, "ConfigMap")
    files = {}
    for container in pod.containers:
        for mount in container.get("volumeMounts", []):
            name = (pod.volume(mount["name"]) or {}).get("configMap", {}).get("name")
            for file, text in maps.get(name, {}).get("data", {}).items():
                files[f"{mount['mountPath']}/{file}"] = text
    return files


def size_of(text: str) -> float:
    """Returns a quantity of Kubernetes, as in 200m, 12Gi or "1", as a number."""
    number, unit = re.fullmatch(r"([0-9.]+)([a-zA-Z]*)", str(text)).groups()
    factors = {"": 1, "m": 1e-3, "Mi": 2**20, "Gi": 2**30}
    return float(number) * factors[unit]
