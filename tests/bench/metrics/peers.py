#!/usr/bin/env python3
"""The figures of metrics_bench by ranx and scipy, from the files that it wrote.

    peers.py FOLDER FEWER

Retrieval metrics are those of FOLDER. The resampling is done for FEWER, a folder of fewer items: at 10,000 it takes scipy too long.
Times are those of the processor; files are read, and ranx's functions compiled, before they are taken.
"""
import json
import pathlib
import sys
import time

import numpy
import ranx
import scipy
from scipy import stats

RESAMPLES = 10_000
RETRIEVAL = {"recall": "recall@5", "precision": "precision@5", "hit_rate": "hit_rate@5", "mrr": "mrr", "ndcg": "ndcg@5", "map": "map"}


def lines(path):
    return [line.split() for line in path.read_text().splitlines()]


def by_query(rows, value):
    out = {}
    for row in rows:
        out.setdefault(row[0], {})[row[2]] = value(row)
    return out


def timed(compute):
    start = time.process_time()
    result = compute()
    return result, 1000 * (time.process_time() - start)


def main():
    folder = pathlib.Path(sys.argv[1])
    qrels_rows = by_query(lines(folder / "qrels.txt"), lambda row: int(row[3]))
    qrels = ranx.Qrels(qrels_rows)
    run_rows = [by_query(lines(path), lambda row: float(row[4])) for path in sorted(folder.glob("run*.txt"))]
    runs = [ranx.Run(rows) for rows in run_rows]
    few = list(qrels_rows)[:10]
    ranx.evaluate(ranx.Qrels({q: qrels_rows[q] for q in few}), ranx.Run({q: run_rows[0][q] for q in few}), list(RETRIEVAL.values()))
    evaluated, retrieval_ms = timed(lambda: [ranx.evaluate(qrels, run, list(RETRIEVAL.values())) for run in runs])

    fewer = pathlib.Path(sys.argv[2])
    columns = {(c["configuration"], c["name"]): c for c in json.loads((fewer / "columns.json").read_text())}
    names = [name for configuration, name in columns if configuration == 0]
    values = {key: numpy.array(c["values"]) for key, c in columns.items()}
    scored = {key: numpy.array(c["scored"], dtype=bool) for key, c in columns.items()}
    draws = numpy.random.default_rng(1)

    def interval(some):
        ends = stats.bootstrap((some,), numpy.mean, method="percentile", n_resamples=RESAMPLES, batch=100, rng=draws).confidence_interval
        return float(ends.low), float(ends.high)

    def of_one():
        out = {}
        for name in names:
            some = values[0, name][scored[0, name]]
            if columns[0, name]["boolean"]:
                ends = stats.binomtest(int(some.sum()), len(some)).proportion_ci(method="wilson")
                ends = ends.low, ends.high
            else:
                ends = interval(some)
            out[name] = {"mean": float(some.mean()), "low": ends[0], "high": ends[1]}
        return out

    def of_pair():
        out = {}
        for name in names:
            both = scored[0, name] & scored[1, name]
            differences = (values[1, name] - values[0, name])[both]
            interval(differences)
            if columns[0, name]["boolean"]:
                better, worse = int((differences > 0).sum()), int((differences < 0).sum())
                out[name] = float(stats.binomtest(worse, better + worse).pvalue)
            else:
                test = stats.permutation_test((differences,), lambda x, axis: numpy.mean(x, axis=axis), permutation_type="samples", vectorized=True,
                                              n_resamples=RESAMPLES, batch=100, rng=draws)
                out[name] = float(test.pvalue)
        return out

    figures, one_configuration_ms = timed(of_one)
    p, one_pair_ms = timed(of_pair)
    for name, value in p.items():
        figures[name]["p"] = value
    means = {name: float(evaluated[0][theirs]) for name, theirs in RETRIEVAL.items()}
    print(json.dumps({"scipy": scipy.__version__, "retrieval_ms": retrieval_ms,
                      "one_configuration_ms": one_configuration_ms, "one_pair_ms": one_pair_ms, "means": means, "figures": figures}))


if __name__ == "__main__":
    main()
