"""Renders the overlays of deploy/kubernetes and finds things in them.

With SORTITION_MANIFESTS=helm in the environment, the profiles of the chart in deploy/helm take the
place of the overlays of the same names, so that a test of the overlays is also one of the chart.
"""

import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Iterator

ROOT = pathlib.Path(__file__).resolve().parents[3]
KUBERNETES = ROOT / "deploy" / "kubernetes"
OVERLAYS = ("single", "replicas", "production")

CHART = ROOT / "deploy" / "helm" / "sortition"
GO_PACKAGES = pathlib.Path("/usr/share/gocode")  # Those of Debian.
HELM = os.environ.get("SORTITION_MANIFESTS") == "helm"

Resource = dict[str, Any]
_folder = tempfile.TemporaryDirectory()  # Of the compiled renderer.


def skip(reason: str) -> None:
    """Ends the program as ctest knows a skipped test."""
    print(f"skipped: {reason}; ./dev test --with kubernetes")
    sys.exit(77)


def require_tools() -> None:
    """Skips the test where the overlays, or the chart, cannot be rendered."""
    try:
        import yaml  # noqa: F401
    except ImportError:
        skip("no python3-yaml")
    if HELM:
        require_renderer()
    else:
        require_kustomize()


def require_kustomize() -> None:
    """Skips the test where there is no kubectl with kustomize 5."""
    if shutil.which("kubectl") is None:
        skip("no kubectl with kustomize 5 (https://kubernetes.io/docs/tasks/tools/)")
    version = subprocess.run(
        ["kubectl", "version", "--client", "--output=json"], capture_output=True, check=False
    ).stdout
    kustomize = json.loads(version or b"{}").get("kustomizeVersion", "none")
    if not re.match(r"v([5-9]|\d\d)\.", kustomize):
        skip(f"kubectl has kustomize {kustomize}, must be v5 or later")


def require_renderer() -> None:
    """Skips the test where tests/deploy/helm/render.go cannot be compiled."""
    if shutil.which("go") is None:
        skip("no golang-go")
    for name in ("Masterminds/sprig", "xeipuuv/gojsonschema"):
        if not (GO_PACKAGES / "src" / "github.com" / name).is_dir():
            skip(f"no Go package github.com/{name}")
    if not (GO_PACKAGES / "src" / "sigs.k8s.io" / "yaml").is_dir():
        skip("no Go package sigs.k8s.io/yaml")


@functools.cache
def renderer() -> str:
    """Compiles tests/deploy/helm/render.go; returns the path of the program."""
    program = f"{_folder.name}/render"
    go = os.environ | {"GO111MODULE": "off", "GOPATH": str(GO_PACKAGES), "GOFLAGS": ""}
    source = ROOT / "tests" / "deploy" / "helm" / "render.go"
    subprocess.run(["go", "build", "-o", program, str(source)], env=go, check=True)
    return program


def namespace_of(overlay: str) -> str:
    """Returns the namespace into which the overlay installs."""
    import yaml

    text = (KUBERNETES / "overlays" / overlay / "kustomization.yaml").read_text()
    return yaml.safe_load(text)["namespace"]


def render_chart(namespace: str, *values: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """Renders the chart with files of values; its output is YAML, or errors with exit status 1."""
    command = [renderer(), str(CHART), namespace, *map(str, values)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def profile_file(profile: str) -> pathlib.Path:
    return CHART / "profiles" / f"{profile}.yaml"


@functools.cache
def kustomized(overlay: str) -> list[Resource]:
    """Returns the resources of `overlay`, as kubectl would apply them."""
    import yaml

    command = ["kubectl", "kustomize", str(KUBERNETES / "overlays" / overlay)]
    return list(yaml.safe_load_all(subprocess.run(command, capture_output=True, check=True).stdout))


@functools.cache
def charted(profile: str) -> list[Resource]:
    """Returns the resources of a profile of the chart, as Helm would install them."""
    import yaml

    done = render_chart(namespace_of(profile), profile_file(profile))
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return list(yaml.safe_load_all(done.stdout))


def documented_namespace(name: str) -> Resource:
    """Returns the namespace that the install commands of the chart's README make, under `name`."""
    readme = (CHART / "README.md").read_text()
    ((key, value),) = re.findall(r"kubectl label namespace \S+ (\S+)=(\S+)", readme)
    metadata = {"name": name, "labels": {key: value}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def render(overlay: str) -> list[Resource]:
    """Returns the resources of `overlay`, or of the chart's profile with the chart's namespace."""
    if HELM:
        return [documented_namespace(namespace_of(overlay)), *charted(overlay)]
    return kustomized(overlay)


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
