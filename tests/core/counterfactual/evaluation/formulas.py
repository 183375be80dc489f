#!/usr/bin/env python3
"""Estimators and intervals of a log, written from the papers without any of
our code. usage: formulas.py LOG.json prints a line for each: name and number."""
import json
import math
import sys

CLIPS = [1, 2, 5, 10, 20, 50, 100, 1000]
SHRINKAGES = [1, 4, 16, 64, 256, 1024, 4096, 65536]
SMOOTHINGS = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.002, 1e-4]


def estimates(log):
    """Name -> (value, influence of a decision on it)."""
    n = sum(d["share"] for d in log)
    result = {}

    def mean(name, term):
        value = sum(d["share"] * term(d) for d in log) / n
        result[name] = (value, lambda d: (term(d) - value) / n)

    def normalised(term):
        """Σ ρ term / Σ ρ and its influence."""
        total = sum(d["share"] * d["weight"] for d in log)
        value = sum(d["share"] * d["weight"] * term(d) for d in log) / total
        return value, lambda d: d["weight"] * (term(d) - value) / total

    def reward(d):
        return d["reward"]

    def residual(d):
        return d["reward"] - d["model"]

    mean("logged", reward)
    mean("ips", lambda d: d["weight"] * d["reward"])
    result["snips"] = normalised(reward)
    mean("direct", lambda d: d["model_policy"])
    mean("dr", lambda d: d["model_policy"] + d["weight"] * residual(d))
    direct, correction = result["direct"], normalised(residual)
    result["sndr"] = (direct[0] + correction[0], lambda d: direct[1](d) + correction[1](d))
    mean("more_robust_dr",
         lambda d: d["robust_policy"] + d["weight"] * (d["reward"] - d["robust"]))
    mean("balanced", lambda d: d["balanced"] * d["reward"])
    mean("marginalised", lambda d: d["marginal"] * d["reward"])

    def with_clip(m):
        mean(f"clipped {m}", lambda d: min(d["weight"], m) * d["reward"])
        mean(f"clipped_dr {m}", lambda d: d["model_policy"] + min(d["weight"], m) * residual(d))
        mean(f"switch_dr {m}",
             lambda d: d["model_policy"] + (d["weight"] * residual(d) if d["weight"] <= m else 0))

    def with_smoothing(s):
        mean(f"log_smoothed {s}", lambda d: math.log1p(s * d["weight"] * d["reward"]) / s)
        mean(f"sub_gaussian {s}",
             lambda d: d["weight"] / ((1 - s) + s * d["weight"]) * d["reward"])

    def with_shrinkage(s):
        mean(f"optimistic_dr {s}",
             lambda d: d["model_policy"] + s * d["weight"] / (d["weight"] ** 2 + s) * residual(d))

    for parameter in CLIPS:
        with_clip(parameter)
    for parameter in SMOOTHINGS:
        with_smoothing(parameter)
    for parameter in SHRINKAGES:
        with_shrinkage(parameter)
    return result


def by_unit(log, influence):
    """What each unit contributes."""
    sums = {}
    for d in log:
        sums[d["unit"]] = sums.get(d["unit"], 0) + d["share"] * influence(d)
    return list(sums.values())


def controlled(log):
    """Regression of the sums of units of ρ r on those of ρ, less their means."""
    n = sum(d["share"] for d in log)
    gain = sum(d["share"] * d["weight"] * d["reward"] for d in log) / n
    weight = sum(d["share"] * d["weight"] for d in log) / n
    gains = by_unit(log, lambda d: d["weight"] * d["reward"] - gain)
    weights = by_unit(log, lambda d: d["weight"] - weight)
    beta = sum(a * b for a, b in zip(gains, weights)) / sum(b * b for b in weights)
    value = gain - beta * (weight - 1)
    return value, lambda d: (d["weight"] * d["reward"] - beta * (d["weight"] - 1) - value) / n


def weighted(log):
    """Means by logging policy with weights (Σ ρ)² / Σ ρ²."""
    loggers = sorted({d["logger"] for d in log})
    parts = {j: [d for d in log if d["logger"] == j] for j in loggers}
    count = {j: sum(d["share"] for d in parts[j]) for j in loggers}
    mean = {j: sum(d["share"] * d["weight"] * d["reward"] for d in parts[j]) / count[j]
            for j in loggers}
    weight = {j: sum(d["share"] * d["weight"] for d in parts[j]) for j in loggers}
    precision = {j: weight[j] ** 2 / sum((d["share"] * d["weight"]) ** 2 for d in parts[j])
                 for j in loggers}
    total = sum(precision.values())
    value = sum(precision[j] * mean[j] for j in loggers) / total

    def influence(d):
        j = d["logger"]
        return precision[j] / total * (d["weight"] * d["reward"] - mean[j]) / count[j]

    return value, influence


def blended(log, result):
    """The formula of blend.h, with estimates as (value, influence)."""
    def mix(*terms):
        return (sum(factor * part[0] for factor, part in terms),
                lambda d: sum(factor * part[1](d) for factor, part in terms))

    def cov(a, b):
        return sum(x * y for x, y in zip(by_unit(log, a[1]), by_unit(log, b[1])))

    def best_share(a, b):
        difference = mix((1, a), (-1, b))
        return min(1, max(0, cov(a, difference) / cov(difference, difference)))

    n = sum(d["share"] for d in log)
    weights = [d["share"] * d["weight"] for d in log]
    effective = sum(weights) ** 2 / sum(w * w for w in weights)
    size = min(effective, len({d["unit"] for d in log}))
    f = size / (size + 100)
    mean_weight = sum(weights) / n
    control = (mean_weight - 1, lambda d: (d["weight"] - mean_weight) / n)
    model = mix((1, result["ips"]), (-1, result["dr"]))
    # Normal equations of the regression of IPS on both controls.
    a, b, c = cov(control, control), cov(control, model), cov(model, model)
    y, z = cov(control, result["ips"]), cov(model, result["ips"])
    of_control, of_model = (y * c - z * b) / (a * c - b * b), (z * a - y * b) / (a * c - b * b)
    controlled_both = mix((1, result["ips"]), (-of_control, control), (-of_model, model))
    to_sndr = best_share(result["snips"], result["sndr"])
    normalised = mix((1 - to_sndr, result["snips"]), (to_sndr, result["sndr"]))
    unbiased = mix((f, controlled_both), (1 - f, normalised))
    model_bias = mix((1, result["direct"]), (-1, unbiased))
    square = model_bias[0] ** 2 + cov(model_bias, model_bias)
    choices = [(cov(unbiased, unbiased), unbiased)]
    for clip in (1, 2, 5):
        clipped = result[f"clipped_dr {clip}"]
        cut = max(0, 1 - sum(min(d["weight"], clip) for d in log) / len(log))
        bias = (cut / f) ** 2 * square
        difference = mix((1, clipped), (-1, unbiased))
        w = bias / (bias + cov(difference, difference))
        both = mix((1 - w, clipped), (w, unbiased))
        choices.append((cov(both, both) + (1 - w) ** 2 * bias, both))
    return min(choices, key=lambda choice: choice[0])[1]


def main():
    with open(sys.argv[1]) as file:
        log = json.load(file)
    result = estimates(log)
    result["controlled_ips"] = controlled(log)
    result["weighted"] = weighted(log)
    result["blended_dr"] = blended(log, result)
    for name, (value, influence) in result.items():
        contributions = by_unit(log, influence)
        groups = len(contributions)
        error = math.sqrt(groups / (groups - 1) * sum(c * c for c in contributions))
        print(f"{name}\t{value!r}\t{error!r}")


main()
