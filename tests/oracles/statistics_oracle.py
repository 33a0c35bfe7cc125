#!/usr/bin/env python3
"""Holds the statistics to scipy, numpy and scikit-learn on cases made anew each run; the seed is printed.

    statistics_oracle.py --program BUILD/tests/oracles/statistics_program [--count 40] [--seed N]

Wilson's interval, McNemar's test, percentiles and exact sign-flip tests must agree to 1e-12; Holm's correction too, with one written
down here. Cohen's kappa must agree with scikit-learn's to 1e-12, and its interval to 1e-6 with the delta method over the derivatives
of scikit-learn's kappa by the weight of each cell. Random sign flips and bootstraps draw other numbers than scipy does, so they agree as two samples of one distribution do.
"""
import argparse
import json
import math
import random
import subprocess
import sys

import numpy
import scipy
import sklearn
from scipy import stats
from sklearn.metrics import cohen_kappa_score

EXACT = 1e-12


class Engine:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, of, **request):
        self.process.stdin.write(json.dumps({"of": of, **request}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"the program ended with {self.process.wait()} at {of} {request}")
        return json.loads(line)


def near(got, want, tolerance, what):
    if got is None or len(numpy.atleast_1d(got)) != len(numpy.atleast_1d(want)) or not numpy.allclose(got, want, rtol=0, atol=tolerance):
        sys.exit(f"{what}: {got}, expected {want} within {tolerance}")


def values(rng, n):
    kind = rng.randrange(5)
    return [[rng.random(), float(rng.randrange(2)), rng.choice([0, 0.25, 1 / 3, 0.5, 2 / 3, 1]), rng.expovariate(0.01), rng.gauss(0.3, 1)][kind] for _ in range(n)]


def holm(p):
    """Holm 1979: p sorted, times how many are left, never below the one before, at most 1."""
    order = sorted((i for i in range(len(p)) if p[i] is not None), key=lambda i: p[i])
    out, floor = [None] * len(p), 0.0
    for rank, i in enumerate(order):
        floor = max(floor, min(1.0, p[i] * (len(order) - rank)))
        out[i] = floor
    return out


def kappa(counts):
    """scikit-learn's, of a square matrix of counts (rows: one rater's labels), which may be fractions."""
    labels = range(len(counts))
    cells = [(i, j, counts[i][j]) for i in labels for j in labels]
    return cohen_kappa_score([i for i, _, _ in cells], [j for _, j, _ in cells], labels=list(labels), sample_weight=[w for _, _, w in cells])


def kappa_interval(counts):
    """kappa ± 1.96 standard errors, cut to [-1, 1]: by the delta method, se² = (Σ p g² - (Σ p g)²) / n over the cells' shares p, g the
    derivative of kappa by a cell's share, here by central differences."""
    n, labels = sum(map(sum, counts)), range(len(counts))
    step = n * 1e-5
    moments = [0.0, 0.0]
    for i in labels:
        for j in labels:
            up, down = [list(map(float, row)) for row in counts], [list(map(float, row)) for row in counts]
            up[i][j] += step
            down[i][j] -= step  # may be a negative weight: the formula does not mind
            derivative = (kappa(up) - kappa(down)) / (2 * step) * n
            for power in (0, 1):
                moments[power] += counts[i][j] / n * derivative ** (2 - power)
    error = math.sqrt(max(0.0, moments[0] - moments[1] ** 2) / n)
    middle, half = kappa(counts), stats.norm.ppf(0.975) * error
    return [max(-1.0, middle - half), min(1.0, middle + half)], error


def check_kappa(engine, rng, where):
    labels = rng.choice([2, 2, 2, 3, 5])
    most = rng.choice([1, 5, 30, 1000])
    counts = [[rng.randint(0, most) + (rng.randint(0, 3 * most) if i == j else 0) for j in range(labels)] for i in range(labels)]
    if rng.random() < 0.15:  # one of the two gives one label only
        counts = [row if i == 0 else [0] * labels for i, row in enumerate(counts)]
    n = sum(map(sum, counts))
    got = engine("kappa", counts=counts)
    if n == 0:
        if got["accuracy"] is not None or got["kappa"] is not None:
            sys.exit(f"{where}: agreement of nothing: {got}")
        return
    near(got["accuracy"], sum(counts[i][i] for i in range(labels)) / n, EXACT, f"{where}: accuracy of {counts}")
    rows, columns = [sum(row) for row in counts], [sum(column) for column in zip(*counts)]
    if any(rows[i] == n and columns[i] == n for i in range(labels)):
        if got["kappa"] is not None:
            sys.exit(f"{where}: kappa of {counts} is undefined, got {got}")
        return
    near(got["kappa"], kappa(counts), EXACT, f"{where}: kappa of {counts}")
    ends, error = kappa_interval(counts)
    if got["interval"] is None:
        if error > 1e-6:
            sys.exit(f"{where}: kappa of {counts} has no interval, its standard error is {error}")
    else:
        near(got["interval"], ends, 1e-6, f"{where}: interval of the kappa of {counts}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"scipy {scipy.__version__}, numpy {numpy.__version__}, scikit-learn {sklearn.__version__}, seed {seed}", flush=True)
    rng = random.Random(seed)
    draws = numpy.random.default_rng(seed)
    engine = Engine(options.program)
    checks = 0
    for number in range(options.count):
        where = f"case {number}, seed {seed}"

        n = rng.choice([1, 5, 20, 1000, 100_000])
        successes = rng.choice([0, n, rng.randint(0, n)])
        interval = stats.binomtest(successes, n).proportion_ci(method="wilson")
        near(engine("wilson", successes=successes, n=n), [interval.low, interval.high], EXACT, f"{where}: Wilson of {successes} of {n}")

        only_a, only_b = rng.randrange(rng.choice([4, 40, 4000])), rng.randrange(rng.choice([4, 40, 4000]))
        want = stats.binomtest(only_a, only_a + only_b, 0.5).pvalue if only_a + only_b else 1.0
        near(engine("mcnemar", only_a=only_a, only_b=only_b), want, EXACT, f"{where}: McNemar of {only_a} and {only_b}")

        some = sorted(values(rng, rng.randint(1, 200)))
        share = rng.choice([0, 0.5, 0.95, 0.99, 1, rng.random()])
        near(engine("percentile", sorted=some, p=share), float(numpy.percentile(some, share * 100)), 1e-9 * max(1.0, max(map(abs, some))), f"{where}: percentile {share}")

        family = [rng.choice([None, rng.random(), rng.random() ** 6]) for _ in range(rng.randint(1, 14))]
        got, want = engine("holm", p=family), holm(family)
        if [p is None for p in got] != [p is None for p in want]:
            sys.exit(f"{where}: Holm of {family}: {got}")
        near([p or 0 for p in got], [p or 0 for p in want], EXACT, f"{where}: Holm of {family}")

        differences = [a - b for a, b in zip(values(rng, 13), values(rng, 13))][:rng.randint(2, 13)]
        exact = stats.permutation_test((differences,), numpy.mean, permutation_type="samples", alternative="two-sided", n_resamples=math.inf)
        # scipy doubles the smaller tail; the distribution is symmetric, so that both definitions agree but where 0 itself is met.
        if abs(numpy.mean(differences)) > 1e-9:
            near(engine("sign_flip", differences=differences, seed=number), exact.pvalue, EXACT, f"{where}: sign flips of {differences}")

        # Two estimates of one p, from 10,000 vectors each: six standard deviations of their difference.
        n = rng.choice([14, 40, 300])
        shift = rng.gauss(0, 0.15)
        differences = [a - b + shift for a, b in zip(values(rng, n), values(rng, n))]
        signs = draws.integers(0, 2, size=(10_000, n)) * 2 - 1
        as_extreme = numpy.sum(numpy.abs(signs @ numpy.array(differences) / n) >= abs(numpy.mean(differences)) - 1e-12)
        want = (as_extreme + 1) / 10_001
        near(engine("sign_flip", differences=differences, seed=number), want, 6 * math.sqrt(2 * max(want * (1 - want), 1e-3) / 10_000), f"{where}: random sign flips")

        # The ends of two bootstraps: the error of a percentile is sqrt(p (1 - p) / B) over the density there, 0.0267 standard errors
        # for a normal distribution; with the other sample's and some for skew.
        some = values(rng, rng.choice([30, 100, 700]))
        error = float(numpy.std(some)) / math.sqrt(len(some))
        if error > 0:
            bootstrap = stats.bootstrap((some,), numpy.mean, method="percentile", n_resamples=10_000, batch=2000, rng=draws)
            lattice = 1.0 / len(some) if set(some) <= {0.0, 1.0} else 0.0
            near(engine("bootstrap", values=some, seed=rng.randrange(1 << 32)), [bootstrap.confidence_interval.low, bootstrap.confidence_interval.high],
                 0.3 * error + lattice, f"{where}: bootstrap of {len(some)} values")
        check_kappa(engine, rng, where)
        checks += 8
    print(f"{checks} figures agree")


if __name__ == "__main__":
    main()
