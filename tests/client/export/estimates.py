"""Estimates of two fixed policies from decisions that any reader has read."""
import math
import sys
from dataclasses import dataclass, field


@dataclass
class Decision:
    """A decision of a log. Candidates are those that were eligible."""

    kind: str  # "SELECT", "RANK" or "SUBSET".
    action: list  # Places among `features`, by rank; a selection without one abstained.
    propensity: float
    reward: float
    features: list = field(default_factory=list)  # One number for each candidate.
    can_abstain: bool = False
    keep_probability: float = 1.0
    is_action_shown: bool = True


def uniform(decision):
    """Returns the probability of the action under the policy that chooses uniformly.

    Subsets are chosen among those of the same size.
    """
    count = len(decision.features)
    if decision.kind == "SUBSET":
        return 1 / math.comb(count, len(decision.action))
    if decision.kind == "SELECT":
        return 1 / (count + decision.can_abstain)
    return 1 / math.perm(count, len(decision.action))


def greedy(decision):
    """Returns 1 if the action has the candidates of the largest features, in their order."""
    best = sorted(range(len(decision.features)), key=lambda i: (-decision.features[i], i))
    best = best[: len(decision.action)]
    if not best:
        return 0
    if decision.kind == "SUBSET":
        return int(set(best) == set(decision.action))
    return int(best == decision.action)


def estimate(decisions, policy):
    """Returns the IPS and SNIPS estimates of the policy's mean reward."""
    weights = [policy(d) / d.propensity / d.keep_probability for d in decisions]
    gain = math.fsum(w * d.reward for w, d in zip(weights, decisions))
    kept = math.fsum(1 / d.keep_probability for d in decisions)
    return gain / kept, gain / math.fsum(weights)


def print_estimates(decisions):
    """Prints the estimates of both policies, and what each of them rests on."""
    decisions = list(decisions)
    print("decisions", len(decisions))
    print("shown", sum(d.is_action_shown for d in decisions))
    for policy in (uniform, greedy):
        ips, snips = estimate(decisions, policy)
        print(f"{policy.__name__}_ips", repr(ips))
        print(f"{policy.__name__}_snips", repr(snips))


def main(read):
    """Prints the estimates from each file of the command line, by `read(path)`."""
    for path in sys.argv[1:]:
        print("file", path)
        print_estimates(read(path))
