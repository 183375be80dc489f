"""Reports of `sortition-trainer ope` and `train`, which their option --report writes as JSON."""

from __future__ import annotations

import json
import pathlib
from typing import Any, Optional, Union

from google.protobuf import json_format

from sortition.config.v1 import ope_report_pb2, train_report_pb2

Path = Union[str, pathlib.Path]


def read_ope(path: Path) -> ope_report_pb2.OpeReport:
    """Returns a report of `ope`. ValueError if the file is none."""
    report = _read(path, ope_report_pb2.OpeReport(), "policies")
    for policy in report.policies:
        if policy.name == report.against:
            # Others are compared with it. Reports in JSON have all numbers, also those of no gain.
            for entry in [*policy.estimates, *policy.rankings.estimates]:
                entry.ClearField("gain_alone")
    return report


def read_train(path: Path) -> train_report_pb2.TrainReport:
    """Returns a report of `train`. ValueError if the file is none."""
    return _read(path, train_report_pb2.TrainReport(), "model")


def _read(path: Path, report: Any, needed: str) -> Any:
    """Reads a report; each has something in the field `needed`."""
    try:
        content = json.loads(pathlib.Path(path).read_text())
        if not isinstance(content, dict):
            raise ValueError(f"holds {content!r:.80}, no object")
        # A newer trainer has fields that this package does not know.
        json_format.ParseDict(content, report, ignore_unknown_fields=True)
        if not getattr(report, needed):
            raise ValueError(f"{needed} is empty")
    except (json_format.ParseError, ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"{path} must be a report of {type(report).__name__}: {error}") from None
    return report


def estimate(
    report: ope_report_pb2.OpeReport, policy: str, estimator: Optional[str] = None
) -> ope_report_pb2.OpeEstimate:
    """Returns what the report says of a policy by one estimator; None: the answer's.

    ValueError names what the report has.
    """
    policies = {entry.name: entry for entry in report.policies}
    if policy not in policies:
        raise ValueError(f'policy is "{policy}", must be one of {", ".join(policies)}')
    if estimator is None:
        return policies[policy].answer
    estimates = {entry.estimator: entry for entry in policies[policy].estimates}
    if estimator not in estimates:
        raise ValueError(f'estimator is "{estimator}", must be one of {", ".join(estimates)}')
    return estimates[estimator]


def value_of(entry: ope_report_pb2.OpeEstimate) -> float:
    """Returns the value of a row, with or without an interval."""
    # JSON reports print all numbers, including value_alone = 0 for rows with an interval.
    return entry.value_alone if entry.no_interval else entry.value.value


def gain_of(entry: ope_report_pb2.OpeEstimate) -> float:
    """Returns the gain of a row, with or without an interval; NaN if the row has no gain."""
    if entry.no_interval:
        return entry.gain_alone if entry.HasField("gain_alone") else float("nan")
    return entry.gain.value if entry.HasField("gain") else float("nan")


def estimates_to_frame(report: ope_report_pb2.OpeReport) -> Any:
    """Returns a DataFrame with a row for each policy and estimator.

    lower and upper are NaN for biased estimators, which have no interval.
    """
    import pandas

    rows = [
        {
            "policy": policy.name,
            "estimator": entry.estimator,
            "value": value_of(entry),
            "lower": entry.value.lower if entry.HasField("value") else float("nan"),
            "upper": entry.value.upper if entry.HasField("value") else float("nan"),
            "gain": gain_of(entry),
            "standard_error": entry.standard_error,
            "chosen": entry.chosen,
        }
        for policy in report.policies
        for entry in policy.estimates
    ]
    return pandas.DataFrame(rows)
