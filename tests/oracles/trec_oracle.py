#!/usr/bin/env python3
"""Holds `polygraph metrics` to pytrec_eval and ir_measures, query by query and in the mean, to 1e-6.

    trec_oracle.py --program BUILD/cli/polygraph [--count 60] [--seed N]

Every case is made anew: ties, scores that differ only beyond single precision, ids that order differently as text and as numbers,
grades below 0, queries that the run or the qrels lack or that have no relevant document. One file in five repeats a document, which
must be refused with its line. The seed is printed.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import ir_measures
import numpy
import pytrec_eval
from ir_measures import AP, RR, P, R, Success, nDCG

TOLERANCE = 1e-6
IDS = ["d{}", "{}", "p/q#{:03}", "Ünï-{}", "d{}-x", "日本{}"]


def case(rng):
    form = rng.choice(IDS)
    documents = [form.format(n) for n in range(rng.choice([3, 12, 60, 400]))]
    queries = [f"q{n}" for n in range(rng.choice([1, 4, 25]))]
    grades = rng.choice([[0, 1], [0, 1, 2, 3], [-2, -1, 0, 1, 5], [0], [1]])
    scores = rng.choice([lambda: str(rng.randrange(4)), lambda: f"{rng.random():.2f}", lambda: repr(rng.gauss(0, 9)), lambda: "1",
                         lambda: f"0.3{rng.randrange(10):>012}", lambda: f"{rng.uniform(-9, 9):e}"])
    qrels, run = {}, {}
    for query in queries:
        if rng.random() < 0.9:
            qrels[query] = {d: rng.choice(grades) for d in rng.sample(documents, rng.randint(1, len(documents)))}
        if rng.random() < 0.9:
            run[query] = {d: scores() for d in rng.sample(documents, rng.randint(1, len(documents)))}
    if not qrels:
        qrels[queries[0]] = {documents[0]: 1}
    return qrels, run, sorted(rng.sample([1, 2, 3, 5, 10, 20, 100, 1000], rng.randint(1, 4)))


def lines_of(rng, qrels, run):
    gap = rng.choice([" ", "\t", "  "])
    qrels_lines = [gap.join([q, "0", d, str(g)]) for q, judged in qrels.items() for d, g in judged.items()]
    run_lines = [gap.join([q, "Q0", d, str(rng.randrange(99)), s, "tag"]) for q, ranked in run.items() for d, s in ranked.items()]
    if rng.random() < 0.5:
        rng.shuffle(qrels_lines)
        rng.shuffle(run_lines)
    return qrels_lines, run_lines


def write(rng, path, lines):
    path.write_bytes((rng.choice(["", "\ufeff"]) + rng.choice(["\n", "\r\n"]).join([*lines, ""])).encode())


def by_pytrec_eval(qrels, run, ks):
    """What pytrec_eval gives for queries of both; the others score 0, which is what trec_eval -c does. It crashes where every grade is
    below 0: such a query has no relevant document and scores 0."""
    cuts = ",".join(map(str, ks))
    sound = {q: judged for q, judged in qrels.items() if max(judged.values()) >= 0}
    evaluator = pytrec_eval.RelevanceEvaluator(sound, {f"recall.{cuts}", f"P.{cuts}", f"success.{cuts}", f"ndcg_cut.{cuts}", "recip_rank", "map"})
    found = evaluator.evaluate({q: {d: float(s) for d, s in ranked.items()} for q, ranked in run.items()})
    names = {"mrr": "recip_rank", "map": "map"}
    for k in ks:
        names |= {f"recall@{k}": f"recall_{k}", f"precision@{k}": f"P_{k}", f"hit_rate@{k}": f"success_{k}", f"ndcg@{k}": f"ndcg_cut_{k}"}
    out = {q: {own: found.get(q, {}).get(theirs, 0.0) for own, theirs in names.items()} for q in qrels}
    for measures in out.values():
        for k in ks:  # trec_eval has no cut for it: what it gives for the whole list holds where the rank is not beyond k
            measures[f"mrr@{k}"] = measures["mrr"] if measures["mrr"] * k >= 1 - TOLERANCE else 0.0
    return out


def tied(scores):
    return len({numpy.float32(float(s)) for s in scores}) < len(scores)


def by_ir_measures(qrels, run, ks):
    names = {"mrr": RR, "map": AP}
    for k in ks:
        names |= {f"recall@{k}": R @ k, f"precision@{k}": P @ k, f"hit_rate@{k}": Success @ k, f"ndcg@{k}": nDCG @ k, f"mrr@{k}": RR @ k}
    theirs = {measure: own for own, measure in names.items()}
    out = {q: dict.fromkeys(names, 0.0) for q in qrels}
    judged = [ir_measures.Qrel(q, d, g) for q, each in qrels.items() if max(each.values()) >= 0 for d, g in each.items()]
    ranked = [ir_measures.ScoredDoc(q, d, float(s)) for q, each in run.items() for d, s in each.items()]
    for q, each in run.items():
        if q in out and tied(each.values()):  # ir_measures computes RR@k by itself, and breaks ties otherwise than trec_eval
            for k in ks:
                del out[q][f"mrr@{k}"]
    for metric in ir_measures.iter_calc(names.values(), judged, ranked) if judged else []:
        if theirs[metric.measure] in out[metric.query_id]:
            out[metric.query_id][theirs[metric.measure]] = metric.value
    return out


def compare(got, want, whose, where):
    for query, measures in want.items():
        for name, value in measures.items():
            if abs(got["queries"][query][name] - value) > TOLERANCE:
                return f"{where}: {name} of query {query} is {got['queries'][query][name]!r}, and {value!r} for {whose}"
    for name in set.intersection(*(set(measures) for measures in want.values())):
        mean = sum(measures[name] for measures in want.values()) / len(want)
        if abs(got["mean"][name] - mean) > TOLERANCE:
            return f"{where}: the mean of {name} is {got['mean'][name]!r}, and {mean!r} for {whose}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"pytrec_eval and ir_measures, seed {seed}", flush=True)
    rng = random.Random(seed)
    values = refused = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number in range(options.count):
            where = f"case {number}, seed {seed}"
            qrels, run, ks = case(rng)
            qrels_lines, run_lines = lines_of(rng, qrels, run)
            repeat = None
            if rng.random() < 0.2:
                lines, file = rng.choice([(qrels_lines, "qrels"), (run_lines, "run")])
                if lines:
                    lines.insert(rng.randrange(len(lines) + 1), lines[rng.randrange(len(lines))])
                    keys = [(line.split()[0], line.split()[2]) for line in lines]
                    repeat = file, next(n for n, key in enumerate(keys, 1) if key in keys[:n - 1])
            write(rng, folder / "qrels", qrels_lines)
            write(rng, folder / "run", run_lines)
            program = subprocess.run([options.program, "metrics", "--qrels", folder / "qrels", "--run", folder / "run", "--k", ",".join(map(str, ks)), "--json"],
                                     capture_output=True, text=True, encoding="utf-8")
            if repeat:
                if program.returncode != 3 or program.stdout or f"{repeat[0]}:{repeat[1]}" not in program.stderr:
                    sys.exit(f"{where}: a document repeats in line {repeat[1]} of {repeat[0]}; status {program.returncode}, said: {program.stderr}")
                refused += 1
                continue
            if program.returncode != 0:
                sys.exit(f"{where}: status {program.returncode}: {program.stderr}")
            got = json.loads(program.stdout)
            if got["queries"].keys() != qrels.keys():
                sys.exit(f"{where}: the queries are {sorted(got['queries'])}, not {sorted(qrels)}")
            counts = {"queries": len(qrels), "not_in_run": len(qrels.keys() - run.keys()), "only_in_run": len(run.keys() - qrels.keys()),
                      "no_relevant": sum(all(g < 1 for g in judged.values()) for judged in qrels.values())}
            if got["counts"] != counts:
                sys.exit(f"{where}: the counts are {got['counts']}, not {counts}")
            for whose, want in (("pytrec_eval", by_pytrec_eval(qrels, run, ks)), ("ir_measures", by_ir_measures(qrels, run, ks))):
                if difference := compare(got, want, whose, where):
                    sys.exit(difference)
                values += sum(map(len, want.values()))
    print(f"{values} values equal to {TOLERANCE}, {refused} files with a repeated document refused")


if __name__ == "__main__":
    main()
