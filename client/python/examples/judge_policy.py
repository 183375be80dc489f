# %% [markdown]
# # Is another policy better? From the log alone
#
# Learns a policy with scikit-learn from half of a log of selections, and judges it on the other
# half: here with NumPy, and beside that with `sortition-trainer ope`, which also gives intervals
# and says what is wrong with the log. Both must agree.
#
# usage: judge_policy.py TUPLES OUTPUT, with sortition-trainer on the PATH. Or open it as a
# notebook: the cells begin at `# %%`.

# %%
from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import numpy as np
from sklearn.linear_model import LogisticRegression

from sortition import logs, ope

tuples_folder, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])

# %% [markdown]
# ## The log
#
# A row for each decision. `record` is read as well, so that tuples can be written again with all
# that they have.

# %%
tuples = logs.read_tuples(tuples_folder, [*logs.DEFAULT_COLUMNS, "eligible", "record"])
tuples = tuples.take(tuples["action_kind"] == logs.ACTION_KINDS["SELECT"])
print(tuples.to_frame()[["decision_id", "action", "log_propensity", "reward"]].head())
print(f"{len(tuples)} selections, mean reward {tuples['reward'].mean():.4f}")

# %% [markdown]
# ## A policy
#
# Predicts the reward of a candidate from its features. Chosen candidates count by 1 / propensity,
# as if each had been chosen equally often. What was learned from must not judge: even decisions
# train, odd ones judge.

# %%
judges = np.arange(len(tuples)) % 2 == 1
train, test = tuples.take(~judges), tuples.take(judges)

chosen = train["action"].first(-1)
rows = np.flatnonzero(chosen >= 0)
features = np.stack([train.features_of(row)[chosen[row]] for row in rows])
is_right = train["reward"][rows] > 0.5
weights = np.exp(-train["log_propensity"][rows])
model = LogisticRegression(max_iter=1000).fit(features, is_right, sample_weight=weights)


def probabilities_of(row: int) -> np.ndarray:
    """Returns the policy's probabilities of a test decision: a softmax of the predicted rewards.

    Where no answer was possible, one more number stands for it; this policy always answers.
    """
    scores = model.decision_function(test.features_of(row))
    eligible = test["eligible"][row]
    if len(eligible):
        scores = np.where(eligible, scores, -np.inf)
    shares = np.exp(2 * (scores - scores.max()))
    shares /= shares.sum()
    return np.append(shares, 0.0) if test["can_abstain"][row] else shares


policy = [probabilities_of(row) for row in range(len(test))]

# %% [markdown]
# ## Judged here
#
# The weight of a decision is what the policy would have done divided by what was done. The log's
# own keep probability belongs into it where a log is sampled.

# %%
action = test["action"].first(-1)
taken = np.array([shares[index] for shares, index in zip(policy, action)])
weight = taken / np.exp(test["log_propensity"])
kept = 1 / test["keep_probability"]
reward = test["reward"]
mine = {
    "ips": (kept * weight * reward).sum() / kept.sum(),
    "snips": (kept * weight * reward).sum() / (kept * weight).sum(),
}
print(f"effective sample size {weight.sum() ** 2 / (weight**2).sum():.0f} of {len(test)}")

# %% [markdown]
# ## Judged by sortition-trainer
#
# The test half goes back to segments, the policy into a file by decision id.

# %%
output.mkdir(parents=True)
logs.write_tuples(output / "test", test)
with (output / "policy.jsonl").open("w") as file:
    for decision_id, shares in zip(test["decision_id"], policy):
        line = {"decision_id": str(decision_id), "probabilities": shares.tolist()}
        file.write(json.dumps(line) + "\n")
command = [
    "sortition-trainer",
    "ope",
    f"--tuples={output / 'test'}",
    f"--policies=mine={output / 'policy.jsonl'}",
    f"--report={output / 'report.json'}",
    f"--page={output / 'report.html'}",
]
subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
report = ope.read_ope(output / "report.json")

# %%
for name, value in mine.items():
    theirs = ope.estimate(report, "mine", name)
    print(f"{name:6} here {value:.9f}  sortition-trainer {ope.value_of(theirs):.9f}")
    if not np.isclose(value, ope.value_of(theirs), rtol=1e-9):
        sys.exit(f"{name} differs")
print(ope.estimates_to_frame(report).to_string(index=False))
print(report.verdict)
