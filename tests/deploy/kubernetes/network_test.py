"""Services lead to ports, and network policies let through what must pass and nothing else."""

import unittest

import rendered

OTHER = "elsewhere"
FRONT_END = {"sortition-client": "true"}


class Endpoint:
    """A pod as network policies see it."""

    def __init__(self, namespace: str, labels: dict[str, str]) -> None:
        self.namespace, self.labels = namespace, labels

    def matches(self, peer: rendered.Resource, home: str) -> bool:
        """Says whether `peer` of a policy in the namespace `home` means this pod."""
        if "namespaceSelector" in peer:
            names = {"kubernetes.io/metadata.name": self.namespace}
            if not rendered.selects(peer["namespaceSelector"], names):
                return False
        elif self.namespace != home:
            return False
        return rendered.selects(peer.get("podSelector", {}), self.labels)


class Network:
    """The policies of an overlay, which hold in its namespace."""

    def __init__(self, overlay: str) -> None:
        self.policies = [p["spec"] for p in rendered.of_kind(overlay, "NetworkPolicy").values()]
        (self.home,) = rendered.of_kind(overlay, "Namespace")

    def lets(self, way: str, here: Endpoint, there: Endpoint, port: int, protocol: str) -> bool:
        """Says whether `here` may reach (Egress) or be reached by (Ingress) `there`."""
        if here.namespace != self.home:
            return True
        side = "to" if way == "Egress" else "from"
        holding = [
            p
            for p in self.policies
            if way in p["policyTypes"] and rendered.selects(p["podSelector"], here.labels)
        ]
        return not holding or any(
            {"protocol": protocol, "port": port} in rule["ports"]
            and any(there.matches(peer, self.home) for peer in rule[side])
            for p in holding
            for rule in p.get(way.lower(), [])
        )

    def connects(self, a: Endpoint, b: Endpoint, port: int, protocol: str = "TCP") -> bool:
        return self.lets("Egress", a, b, port, protocol) and self.lets(
            "Ingress", b, a, port, protocol
        )


class PoliciesTest(unittest.TestCase):
    def test_let_through_what_must_pass_and_nothing_else(self) -> None:
        for overlay in rendered.OVERLAYS:
            network = Network(overlay)
            home = network.home
            ends = {n: Endpoint(home, p.labels) for n, p in rendered.pods(overlay).items()}
            ends["front end"] = Endpoint(OTHER, FRONT_END)
            ends["front end here"] = Endpoint(home, FRONT_END)
            ends["stranger"] = Endpoint(OTHER, {})
            ends["stranger here"] = Endpoint(home, {})
            ends["prometheus"] = Endpoint("monitoring", {})
            ends["dns"] = Endpoint("kube-system", {})
            expected = {
                ("front end", "sortition", 8500),
                ("front end here", "sortition", 8500),
                ("prometheus", "sortition", 8501),
                ("prometheus", "sortition", 8502),
            }
            if overlay != "single":
                expected |= {
                    ("prometheus", "sortition-consumer", 8501),
                    ("prometheus", "sortition-consumer", 8502),
                    ("sortition", "sortition-consumer", 8504),
                    ("sortition", "sortition-nats", 4222),
                    ("sortition-consumer", "sortition-nats", 4222),
                    ("sortition-nats", "sortition-nats", 6222),
                }
            ours = set(rendered.pods(overlay))
            ports = (53, 4222, 6222, 8222, 8500, 8501, 8502, 8503, 8504, 8505)
            found = {
                (a, b, port)
                for a in ends
                for b in ends
                for port in ports
                if b in ours and network.connects(ends[a], ends[b], port)
            }
            self.assertEqual(found, expected)
            outside = {
                (a, b, port)
                for a in ours
                for b in set(ends) - ours
                for port in ports
                if network.connects(ends[a], ends[b], port)
            }
            self.assertEqual(outside, {(a, "dns", 53) for a in ours})
            self.assertTrue(network.connects(ends["sortition"], ends["dns"], 53, "UDP"))


class ServicesTest(unittest.TestCase):
    def test_lead_to_ports_that_pods_open(self) -> None:
        for overlay in rendered.OVERLAYS:
            for name, service in rendered.of_kind(overlay, "Service").items():
                selector = {"matchLabels": service["spec"]["selector"]}
                pods = rendered.pods(overlay).values()
                (pod,) = [p for p in pods if rendered.selects(selector, p.labels)]
                opened = [p for c in pod.containers for p in c.get("ports", [])]
                ports = {p["name"]: p["containerPort"] for p in opened}
                ports |= {number: number for number in ports.values()}
                for port in service["spec"]["ports"]:
                    self.assertEqual(ports[port["targetPort"]], port["port"], f"{name}: {port}")

    def test_pass_the_policies(self) -> None:
        """A port of a Service that no policy lets anybody reach is of no use."""
        peers = [Endpoint(OTHER, FRONT_END), Endpoint("monitoring", {})]
        for overlay in rendered.OVERLAYS:
            network, pods = Network(overlay), rendered.pods(overlay)
            ends = [Endpoint(network.home, p.labels) for p in pods.values()]
            for service in rendered.of_kind(overlay, "Service").values():
                selector = {"matchLabels": service["spec"]["selector"]}
                (target,) = [e for e in ends if rendered.selects(selector, e.labels)]
                for port in service["spec"]["ports"]:
                    reached = [network.connects(e, target, port["port"]) for e in peers + ends]
                    self.assertIn(True, reached, port)


if __name__ == "__main__":
    rendered.require_tools()
    unittest.main(verbosity=2)
