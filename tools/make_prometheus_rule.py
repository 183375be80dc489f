#!/usr/bin/env python3
"""Writes deploy/kubernetes/components/monitoring/alerts.yaml from deploy/prometheus/alerts.yml.

usage: tools/make_prometheus_rule.py [--check]
  --check  write nothing; exit status 1 if the file is not what would be written
"""

import pathlib
import sys

DEPLOY = pathlib.Path(__file__).resolve().parent.parent / "deploy"
ALERTS = DEPLOY / "prometheus" / "alerts.yml"
RULE = DEPLOY / "kubernetes" / "components" / "monitoring" / "alerts.yaml"

HEADER = """\
# Written by tools/make_prometheus_rule.py from deploy/prometheus/alerts.yml.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: sortition
spec:
"""


def make_rule(alerts: str) -> str:
    """Returns the resource whose specification is the rule file with the text `alerts`."""
    lines = (f"  {line}" if line.strip() else "" for line in alerts.splitlines())
    return HEADER + "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    rule = make_rule(ALERTS.read_text(encoding="utf-8"))
    if not arguments:
        RULE.write_text(rule, encoding="utf-8")
        return 0
    if RULE.read_text(encoding="utf-8") != rule:
        print(f"{RULE} differs from {ALERTS}: run tools/make_prometheus_rule.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
