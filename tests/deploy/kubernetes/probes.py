"""Asks containers as the kubelet does."""

import subprocess
import urllib.request

import deployed

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


def _exec(pod: deployed.DeployedPod, command: list[str], seconds: float) -> bool:
    words = [word.replace("127.0.0.1:8503", f"127.0.0.1:{pod.ports[8503]}") for word in command]
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
        return _exec(pod, probe["exec"]["command"], seconds)
    ports = {p["name"]: p["containerPort"] for p in found["ports"]}
    return _http(pod.ports[ports[probe["httpGet"]["port"]]], probe["httpGet"]["path"], seconds)
