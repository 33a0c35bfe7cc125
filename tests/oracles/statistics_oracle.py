#!/usr/bin/env python3
"""Holds the statistics to scipy and numpy on cases made anew each run; the seed is printed.

    statistics_oracle.py --program BUILD/tests/oracles/statistics_program [--count 40] [--seed N]

Wilson's interval, McNemar's test, percentiles and exact sign-flip tests must agree to 1e-12; Holm's correction too, with one written
down here. Random sign flips and bootstraps draw other numbers than scipy does, so they agree as two samples of one distribution do.
"""
import argparse
import json
import math
import random
import subprocess
import sys

import numpy
import scipy
from scipy import stats

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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"scipy {scipy.__version__}, numpy {numpy.__version__}, seed {seed}", flush=True)
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
        checks += 7
    print(f"{checks} figures agree")


if __name__ == "__main__":
    main()
