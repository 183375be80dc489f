"""What is scraped, what alerts, and what the autoscaler goes by.

The rule of prometheus-adapter is worked out by promtool from a series of known slope.
"""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from typing import Any

import configured
import rendered

COMPONENT = rendered.KUBERNETES / "components" / "monitoring"
OVERLAY = "production"


def adapter_rule() -> Any:
    import yaml

    text = (COMPONENT / "prometheus-adapter.yaml").read_text()
    (rule,) = yaml.safe_load(text)["rules"]["custom"]
    return rule


class ScalingTest(unittest.TestCase):
    def autoscaler(self) -> Any:
        return rendered.of_kind(OVERLAY, "HorizontalPodAutoscaler")["sortition"]["spec"]

    def test_scales_what_there_is(self) -> None:
        for overlay in ("replicas", OVERLAY):
            spec = rendered.of_kind(overlay, "HorizontalPodAutoscaler")["sortition"]["spec"]
            target = spec["scaleTargetRef"]
            resource = rendered.of_kind(overlay, target["kind"])[target["name"]]
            self.assertEqual(target["apiVersion"], resource["apiVersion"])
            # Else each `kubectl apply` would undo what the autoscaler has done.
            self.assertNotIn("replicas", resource["spec"])
            names = [c["name"] for c in rendered.pods(overlay)["sortition"].containers]
            self.assertIn(spec["metrics"][0]["containerResource"]["container"], names)
        self.assertEqual(rendered.of_kind("single", "HorizontalPodAutoscaler"), {})

    def test_metric_of_ours_is_one_that_the_adapter_makes(self) -> None:
        (metric,) = [m["pods"] for m in self.autoscaler()["metrics"] if m["type"] == "Pods"]
        rule = adapter_rule()
        self.assertEqual(metric["metric"]["name"], rule["name"]["as"])
        # A thread cannot be busy for more than all of the time.
        threads = configured.server(OVERLAY).threads
        target = rendered.size_of(metric["target"]["averageValue"])
        self.assertLess(target, 0.8 * threads)
        self.assertGreater(target, 0.3 * threads)

    def test_adapter_finds_its_series_and_methods_in_the_sources(self) -> None:
        rule = adapter_rule()
        series = re.match(r"(\w+)\{", rule["seriesQuery"]).group(1)
        self.assertRegex(series, rule["name"]["matches"])
        histogram = series.removesuffix("_sum")
        sources = "".join(p.read_text() for p in rendered.ROOT.glob("server/**/*.cc"))
        self.assertIn(f'"{histogram}"', sources)
        protos = "".join(p.read_text() for p in rendered.ROOT.glob("proto/sortition/v1/*.proto"))
        service = re.search(r"\nservice Ranking \{(.*?)\n\}", protos, re.DOTALL).group(1)
        methods = re.findall(r"\brpc (\w+)\(", service)
        asked = re.search(r'method=~"([\w|]+)"', rule["metricsQuery"]).group(1)
        self.assertCountEqual(asked.split("|"), methods)

    def test_metric_is_the_number_of_requests_in_work(self) -> None:
        query = adapter_rule()["metricsQuery"]
        for placeholder, value in {
            "<<.Series>>": "sortition_request_seconds_sum",
            "<<.LabelMatchers>>": 'namespace="sortition",pod=~"sortition-0|sortition-1"',
            "<<.GroupBy>>": "pod",
        }.items():
            self.assertIn(placeholder, query)
            query = query.replace(placeholder, value)

        def series(pod: str, method: str, seconds: float) -> str:
            labels = f'namespace="sortition",pod="{pod}",method="{method}"'
            return (
                f"      - series: 'sortition_request_seconds_sum{{{labels}}}'\n"
                f"        values: '0+{seconds}x60'\n"
            )

        # Every 10 s requests take so many seconds; DescribeModel is none of theirs.
        test = (
            "rule_files: []\ntests:\n  - interval: 10s\n    input_series:\n"
            + series("sortition-0", "Rank", 4)
            + series("sortition-0", "ReportFeedback", 1)
            + series("sortition-0", "DescribeModel", 9)
            + series("sortition-1", "Select", 2)
            + series("another", "Select", 7)
            + "    promql_expr_test:\n      - eval_time: 5m\n        expr: >-\n"
            + f"          {query}\n        exp_samples:\n"
            + "          - {labels: '{pod=\"sortition-0\"}', value: 0.5}\n"
            + "          - {labels: '{pod=\"sortition-1\"}', value: 0.2}\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "test.yml"
            path.write_text(test)
            command = ["promtool", "test", "rules", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class ScrapingTest(unittest.TestCase):
    def test_monitors_scrape_each_port_of_metrics_once(self) -> None:
        scraped = []
        services = rendered.of_kind(OVERLAY, "Service").values()
        for monitor in rendered.of_kind(OVERLAY, "ServiceMonitor").values():
            for endpoint in monitor["spec"]["endpoints"]:
                (job,) = [r for r in endpoint["relabelings"] if r["targetLabel"] == "job"]
                for service in services:
                    if rendered.selects(monitor["spec"]["selector"], service["metadata"]["labels"]):
                        for port in service["spec"]["ports"]:
                            if port["name"] == endpoint["port"]:
                                name = service["metadata"]["name"]
                                scraped.append((job["replacement"], name, port["port"]))
        self.assertCountEqual(
            scraped,
            [
                ("sortition-server", "sortition-pods", 8501),
                ("sortition-sidecar", "sortition-pods", 8502),
                ("sortition-consumer", "sortition-consumer", 8502),
            ],
        )

    def test_jobs_are_those_that_alerts_and_dashboards_know(self) -> None:
        import yaml

        text = (rendered.ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text()
        known = [job["job_name"] for job in yaml.safe_load(text)["scrape_configs"]]
        monitors = rendered.of_kind(OVERLAY, "ServiceMonitor").values()
        jobs = [
            relabeling["replacement"]
            for monitor in monitors
            for endpoint in monitor["spec"]["endpoints"]
            for relabeling in endpoint["relabelings"]
            if relabeling["targetLabel"] == "job"
        ]
        self.assertCountEqual(jobs, known)


class AlertsTest(unittest.TestCase):
    def test_are_those_of_prometheus(self) -> None:
        import yaml

        rule = rendered.of_kind(OVERLAY, "PrometheusRule")["sortition"]
        text = (rendered.ROOT / "deploy" / "prometheus" / "alerts.yml").read_text()
        self.assertEqual(rule["spec"], yaml.safe_load(text))

    def test_of_jobs_fire_and_end(self) -> None:
        import yaml

        spec = rendered.of_kind(OVERLAY, "PrometheusRule")["sortition-jobs"]["spec"]
        names = [rule["alert"] for group in spec["groups"] for rule in group["rules"]]
        runbook = (rendered.ROOT / "docs" / "runbook.md").read_text()
        for name in names:
            self.assertIn(f"\n### {name}\n", runbook)
        self.assertEqual(names, ["SortitionJobFailed", "SortitionJobNotRun"])
        jobs = set(rendered.of_kind(OVERLAY, "CronJob"))
        self.assertEqual(jobs, {"sortition-train", "sortition-rollout"})

        def series(name: str, values: str, **labels: str) -> dict[str, str]:
            text = ", ".join(f'{key}="{value}"' for key, value in labels.items())
            return {"series": f'{name}{{namespace="n", {text}}}', "values": values}

        # train-1 began at minute 7 and failed at minute 10; rollout-1 works, a job of others fails.
        # The CronJob train has its last success at minute 0, rollout every ten minutes; the third
        # was made at minute 0 and has never had one.
        test = {
            "rule_files": ["rules.yml"],
            "evaluation_interval": "5m",
            "tests": [
                {
                    "interval": "5m",
                    "input_series": [
                        series("kube_job_status_failed", "0 0 1x60", job_name="sortition-train-1"),
                        series("kube_job_status_start_time", "420x62", job_name="sortition-train-1"),
                        series("kube_job_status_failed", "0x62", job_name="sortition-rollout-1"),
                        series("kube_job_status_failed", "1x62", job_name="other-1"),
                        series("kube_job_status_start_time", "420x62", job_name="other-1"),
                        series(
                            "kube_cronjob_status_last_successful_time",
                            "0x62",
                            cronjob="sortition-train",
                        ),
                        series(
                            "kube_cronjob_status_last_successful_time",
                            "0+300x62",
                            cronjob="sortition-rollout",
                        ),
                    ],
                    "alert_rule_test": [
                        {"eval_time": time, "alertname": name, "exp_alerts": expected}
                        for name, label, key, times in (
                            ("SortitionJobFailed", "sortition-train-1", "job_name", "5m 60m 150m"),
                            ("SortitionJobNotRun", "sortition-train", "cronjob", "2h 4h -"),
                        )
                        for time, fires in zip(times.split(), (False, True, False))
                        if time != "-"
                        for expected in [self.expected(spec, name, key, label) if fires else []]
                    ],
                }
            ],
        }
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "rules.yml").write_text(yaml.safe_dump(spec))
            (path / "test.yml").write_text(yaml.safe_dump(test))
            command = ["promtool", "test", "rules", str(path / "test.yml")]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @staticmethod
    def expected(spec: Any, name: str, key: str, value: str) -> list[Any]:
        """Returns the one alert of rule `name`, about the object `value`."""
        rules = [rule for group in spec["groups"] for rule in group["rules"]]
        (rule,) = [rule for rule in rules if rule["alert"] == name]
        texts = {
            field: text.replace("{{ $labels.namespace }}", "n").replace(f"{{{{ $labels.{key} }}}}", value)
            for field, text in rule["annotations"].items()
        }
        labels = rule["labels"] | {"namespace": "n", key: value}
        return [{"exp_labels": labels, "exp_annotations": texts}]

    def test_are_optional(self) -> None:
        for overlay in ("single", "replicas"):
            kinds = {r["apiVersion"].split("/")[0] for r in rendered.render(overlay)}
            self.assertNotIn("monitoring.coreos.com", kinds)


if __name__ == "__main__":
    rendered.require_tools()
    configured.require_tools()
    if shutil.which("promtool") is None:
        rendered.skip("no promtool")
    unittest.main(verbosity=2)
