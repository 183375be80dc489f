#!/usr/bin/env python3
"""POEM with NumPy and SciPy: what bench_poem_speed is compared with.

The objective of core/counterfactual/crm.h for the independent labels of
core/learners/multilabel/labels_policy.h, minimised by POEM(S) (core/learners/counterfactual/poem.h: the
same shuffles, batches and steps of AdaGrad) or POEM(B) (SciPy's L-BFGS). Every
tuple has its row of X, dense or CSR, as a table of logged data has.

usage: poem_reference.py DIRECTORY stochastic|batch

The directory, written by the benchmark, has options.json and .npy files. Prints
a name and a value a line: CPU seconds of the fastest of `repetitions` trainings, the
objective at what was learned, and the objective at parameters.npy.
"""
import json
import pathlib
import sys
import time

import numpy as np
import scipy.sparse
from scipy.optimize import fmin_l_bfgs_b


class Log:
    """Bandit tuples: X (n, p), labels Y (n, q), losses and log-propensities."""

    def __init__(self, directory):
        def load(name):
            return np.load(directory / f"{name}.npy")

        contexts = load("contexts")
        if (directory / "dense.npy").exists():
            rows = load("dense").astype(np.float64)
        else:
            offsets = load("row_offsets")
            rows = scipy.sparse.csr_matrix(
                (load("values").astype(np.float64), load("columns"), offsets),
                shape=(len(offsets) - 1, int(load("num_features")[0])))
        self.x = rows[contexts]
        self.y = load("labels").astype(np.float64)
        self.losses = load("losses")
        self.log_propensities = load("log_propensities")
        self.orders = load("orders")  # Epochs × n.


def clipped_losses(x, y, losses, log_propensities, w, clip):
    """u, its derivative by log h, and σ(s)."""
    scores = x @ w
    e = np.exp(-np.abs(scores))
    probabilities = np.where(scores >= 0, 1, e) / (1 + e)
    log_partition = (np.maximum(scores, 0) + np.log1p(e)).sum(axis=1)
    log_h = (scores * y).sum(axis=1) - log_partition
    weights = np.exp(log_h - log_propensities)
    u = losses * np.minimum(clip, weights)
    return u, np.where(weights < clip, u, 0), probabilities


def objective(log, w, options):
    u, _, _ = clipped_losses(log.x, log.y, log.losses, log.log_propensities, w,
                             options["clip"])
    return (u.mean() + options["lambda"] * np.sqrt(u.var(ddof=1) / len(u)) +
            options["l2"] * np.square(w).sum())


def objective_and_gradient(flat, log, options):
    w = flat.reshape(log.x.shape[1], log.y.shape[1])
    u, slopes, probabilities = clipped_losses(
        log.x, log.y, log.losses, log.log_propensities, w, options["clip"])
    n = len(u)
    mean, deviation = u.mean(), u.std(ddof=1)
    value = (mean + options["lambda"] * deviation / np.sqrt(n) +
             options["l2"] * np.square(w).sum())
    factors = slopes / n
    if deviation > 0:
        factors += (options["lambda"] / (np.sqrt(n) * (n - 1) * deviation) *
                    slopes * (u - mean))
    gradient = log.x.T @ (factors[:, np.newaxis] * (log.y - probabilities))
    return value, (gradient + 2 * options["l2"] * w).ravel()


def majorise(log, w, options):
    """Factors of the means of u and u² (a and b of core/learners/counterfactual/poem.h)."""
    if options["lambda"] == 0:
        return 1.0, 0.0
    u, _, _ = clipped_losses(log.x, log.y, log.losses, log.log_propensities, w,
                             options["clip"])
    n = len(u)
    deviation = u.std(ddof=1)
    if deviation == 0:
        return 1.0, 0.0
    factor = options["lambda"] * np.sqrt(n) / ((n - 1) * deviation)
    return 1 - factor * u.mean(), factor / 2


def train_stochastic(log, options):
    w = np.zeros((log.x.shape[1], log.y.shape[1]))
    accumulator = np.ones_like(w)
    best, best_w = np.inf, w
    size = options["batch_size"]
    n = log.x.shape[0]
    for order in log.orders:
        a, b = majorise(log, w, options)
        progressive = np.empty(n)
        for begin in range(0, n, size):
            batch = order[begin:begin + size]
            x, y = log.x[batch], log.y[batch]
            u, slopes, probabilities = clipped_losses(
                x, y, log.losses[batch], log.log_propensities[batch], w,
                options["clip"])
            progressive[begin:begin + size] = u
            factors = slopes * (a + 2 * b * u) / len(batch)
            gradient = x.T @ (factors[:, np.newaxis] * (y - probabilities))
            gradient += 2 * options["l2"] * w
            accumulator += np.square(gradient)
            w -= options["step_size"] * gradient / np.sqrt(accumulator)
        value = (progressive.mean() +
                 options["lambda"] * np.sqrt(progressive.var(ddof=1) / n) +
                 options["l2"] * np.square(w).sum())
        if value < best:
            best, best_w = value, w.copy()
    return best_w, {}


def train_batch(log, options):
    start = np.zeros(log.x.shape[1] * log.y.shape[1])
    flat, _, info = fmin_l_bfgs_b(
        objective_and_gradient, start, args=(log, options), m=options["history"],
        maxiter=options["iterations"], maxfun=100000, factr=0, pgtol=0)
    return (flat.reshape(log.x.shape[1], log.y.shape[1]),
            {"iterations": info["nit"], "evaluations": info["funcalls"]})


def main():
    directory = pathlib.Path(sys.argv[1])
    options = json.loads((directory / "options.json").read_text())
    train = {"stochastic": train_stochastic, "batch": train_batch}[sys.argv[2]]
    log = Log(directory)
    seconds = []
    for _ in range(options["repetitions"]):
        begin = time.process_time()
        w, info = train(log, options)
        seconds.append(time.process_time() - begin)
    given = np.load(directory / "parameters.npy").reshape(w.shape)
    results = {
        "seconds": min(seconds),
        "objective": objective(log, w, options),
        "objective_at_given": objective(log, given, options),
        **info,
    }
    for name, value in results.items():
        print(name, repr(float(value)))


if __name__ == "__main__":
    main()
