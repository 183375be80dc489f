"""Asks containers as the kubelet does."""

import subprocess
import urllib.request

import deployed
import rendered

# SERVING in grpc.health.v1.HealthCheckResponse: field 1, value 1.
SERVING = b"\x08\x01"


def _grpc(port: int, service: str, seconds: float) -> bool:
    import grpc

    name = service.encode()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        try:
            return check(b"\x0a" + bytes([len(name)]) + name, timeout=seconds) == SERVING
        except grpc.RpcError:
            return False


def _http(port: int, path: str, seconds: float) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=seconds) as answer:
            return 200 <= answer.status < 400
    except OSError:
        return False


def _exec(pod: deployed.DeployedPod, container: str, command: list[str], seconds: float) -> bool:
    words = command
    if command[0] == "sortition-health":
        # The container sees no other processes than its own.
        script = (rendered.ROOT / "deploy/container/sortition-health").read_text()
        if container not in pod.processes:
            return False
        own = f"/proc/{pod.processes[container].pid}"
        words = ["sh", "-c", script.replace("/proc/[0-9]*", own), *command]
    words = [pod.here(word) for word in words]
    try:
        done = subprocess.run(words, timeout=seconds, capture_output=True, check=False)
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False


def succeeds(pod: deployed.DeployedPod, container: str, name: str) -> bool:
    """Says whether the probe `name`, as in "readiness", of a container succeeds now."""
    found = pod.pod.container(container)
    probe = found[f"{name}Probe"]
    seconds = probe.get("timeoutSeconds", 1)
    if "grpc" in probe:
        return _grpc(pod.ports[probe["grpc"]["port"]], probe["grpc"]["service"], seconds)
    if "exec" in probe:
        return _exec(pod, container, probe["exec"]["command"], seconds)
    ports = {p["name"]: p["containerPort"] for p in found["ports"]}
    return _http(pod.ports[ports[probe["httpGet"]["port"]]], probe["httpGet"]["path"], seconds)
