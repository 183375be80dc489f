"""Runs tests in namespaces of their own, where ports, processes and mounts are theirs alone."""

import fcntl
import socket
import struct
import subprocess
import sys

SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def run_alone(*options: str, prepare: str = "true") -> None:
    """Returns in the namespaces that unshare makes with `options`, after the shell commands `prepare`.

    The program is started again there, and exits outside with the status that it had inside.
    """
    if "--inside" in sys.argv:
        sys.argv.remove("--inside")
        return
    unshare = ["unshare", "--map-root-user", *options, "sh", "-c"]
    probe = subprocess.run([*unshare, prepare], capture_output=True, check=False, text=True)
    if probe.returncode != 0:
        print(f"skipped: no namespaces for users here ({probe.stderr.strip()}); ./dev test as root")
        sys.exit(0)
    inner = [f'{prepare} && exec "$0" "$@"', sys.executable, "-B", *sys.argv, "--inside"]
    sys.exit(subprocess.run([*unshare, *inner], check=False).returncode)


def raise_loopback() -> None:
    """Makes 127.0.0.1 of a new network namespace reachable."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))
