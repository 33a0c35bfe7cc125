#!/usr/bin/env python3
"""Writes tables.inc: what the WordPiece tokenizer and the words for BM25 need to know about Unicode.

The reference tokenizer mixes several versions of Unicode (each of its Rust crates brings its own), so its behaviour is
asked of it, code point by code point, and not derived from the Unicode Character Database. General categories for words
come from Python's unicodedata.

    python -m venv venv && venv/bin/pip install tokenizers==0.23.3
    venv/bin/python wasm/text/unicode/generate.py > wasm/text/unicode/tables.inc
"""
import itertools
import sys
import unicodedata

import tokenizers
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

DROP, SPACE, MARK, PUNCTUATION, IDEOGRAPH, LETTER, DIGIT = (1 << i for i in range(7))

normalizer = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
pre_tokenizer = BertPreTokenizer()
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)  # decomposed by arithmetic


def probe():
    """Per code point its flags, and per code point that changes what it becomes."""
    flags, becomes = {}, {}
    for c in CODE_POINTS:
        char = chr(c)
        category = unicodedata.category(char)
        out = normalizer.normalize_str("a" + char + "b")[1:-1]
        flag = 0
        if out == "":
            flag = MARK if category[0] == "M" else DROP
        elif out == " ":
            flag = SPACE
        else:
            if len(out) > 2 and out[0] == " " and out[-1] == " ":
                flag = IDEOGRAPH
                out = out[1:-1]
            if out != char and c not in HANGUL_SYLLABLES:
                becomes[c] = [ord(x) for x in out]
        if len(pre_tokenizer.pre_tokenize_str("a" + char + "b")) == 3 and flag in (0, IDEOGRAPH):
            flag |= PUNCTUATION
        if category[0] == "L" or category == "Nl":
            flag |= LETTER
        elif category == "Nd":
            flag |= DIGIT
        elif category[0] == "M" and flag == 0:
            flag = LETTER  # vowel signs and other spacing marks belong to the word they stand in
        flags[c] = flag
    return flags, becomes


def swaps(first, second):
    """Whether the reference's canonical ordering puts `second` before `first`."""
    return normalizer.normalize_str("a" + chr(first) + chr(second)) == "a" + chr(second) + chr(first)


def combining_classes(flags):
    """Canonical combining classes as the reference's normalisation crate knows them.

    Marks that the reference strips are seen only through offsets; their classes are old and stable, unicodedata's hold.
    The others are held against each other: a mark of a later Unicode than the crate's is a starter to it.
    """
    def first_class(c):
        # U+0F73 is a starter by itself, yet it decomposes into two marks.
        return unicodedata.combining(unicodedata.normalize("NFD", chr(c))[0])

    classes = {c: first_class(c) for c in CODE_POINTS if first_class(c)}
    low = 0x1B44  # class 9, kept by the reference
    known = {c: k for c, k in classes.items() if flags[c] & (MARK | DROP)}
    kept = [c for c in classes if c not in known]
    anchors = {classes[c]: c for c in (low, 0x1D165, 0x302E, 0x1D16D)}
    for c in kept:
        k = classes[c]
        below = [a for ak, a in anchors.items() if ak < k]
        above = [a for ak, a in anchors.items() if ak > k]
        ordered = all(swaps(c, a) for a in below) and all(swaps(a, c) for a in above)
        starter = not any(swaps(c, a) or swaps(a, c) for a in anchors.values())
        if ordered:
            known[c] = k
        elif not starter:
            sys.exit(f"U+{c:04X}: combining class {k} does not fit the reference")
    for c in CODE_POINTS:
        if c not in classes and not flags[c] & (MARK | DROP | SPACE | IDEOGRAPH) and (swaps(c, low) or swaps(low, c)):
            sys.exit(f"U+{c:04X} is no starter to the reference, and unicodedata does not know its class")
    return known


def ranges(values):
    """(first code point, value) of each run of equal values over all code points; surrogates join what precedes."""
    out = []
    for c in CODE_POINTS:
        value = values.get(c, 0)
        if not out or out[-1][1] != value:
            out.append((c, value))
    return out


def strided(members):
    """(first, count, stride) that cover `members`: capitals come in rows or as every second code point."""
    left, out = set(members), []
    for c in sorted(members):
        if c not in left:
            continue
        lengths = {s: next(n for n in itertools.count(1) if c + n * s not in left) for s in (1, 2)}
        stride = max(lengths, key=lambda s: (lengths[s], -s))
        out.append((c, lengths[stride], stride))
        left.difference_update(c + i * stride for i in range(lengths[stride]))
    return out


def split_becomes(becomes):
    """One-to-one changes as runs (first, count, stride, delta) whose spans do not overlap, what is left as single pairs,
    and the changes to more than one code point."""
    single = {c: out[0] for c, out in becomes.items() if len(out) == 1}
    longer = {c: out for c, out in becomes.items() if len(out) != 1}
    runs, left, used = [], {}, set()
    end = 0  # of the last run's span
    for c in sorted(single):
        if c in used:
            continue
        delta = single[c] - c
        best = (1, 1)
        for stride in (1, 2):
            n = 1
            while single.get(c + n * stride, -1) - (c + n * stride) == delta and c + n * stride not in used:
                n += 1
            best = max(best, (n, stride), key=lambda b: (b[0], -b[1]))
        n, stride = best
        if n >= 3 and n < 256 and c >= end:
            runs.append((c, n, stride, delta))
            end = c + n * stride
            used.update(c + i * stride for i in range(n))
        else:
            left[c] = single[c]
            used.add(c)
    return runs, left, longer


def emit(name, kind, items, per_line):
    print(f"constexpr {kind} {name}[] = {{")
    items = list(items)
    for i in range(0, len(items), per_line):
        print("    " + " ".join(f"{x}," for x in items[i:i + per_line]))
    print("};\n")


def main():
    flags, becomes = probe()
    classes = combining_classes(flags)
    runs, left, longer = split_becomes(becomes)
    # Single pairs: neighbouring keys share one block; its values are 16 bits, plus 0x20000 from block `wide` on.
    blocks, values = [], []
    for c in sorted(left):
        plane = left[c] >> 16
        if blocks and blocks[-1][0] + blocks[-1][1] == c and blocks[-1][2] == plane and blocks[-1][1] < 255:
            blocks[-1][1] += 1
        else:
            blocks.append([c, 1, plane, len(values)])
        values.append(left[c] & 0xFFFF)

    property_ranges, class_ranges = ranges(flags), ranges(classes)
    print(f"// Written by generate.py from tokenizers {tokenizers.__version__} and Unicode {unicodedata.unidata_version}; do not edit.\n")
    print("// First code point << 8 | flags, up to the next entry.")
    emit("property_ranges", "std::uint32_t", (f"0x{c << 8 | v:X}" for c, v in property_ranges), 12)
    print("// First code point << 8 | canonical combining class, up to the next entry.")
    emit("class_ranges", "std::uint32_t", (f"0x{c << 8 | v:X}" for c, v in class_ranges), 12)
    print("// count code points, `stride` apart, become themselves + delta.")
    emit("runs", "Run", (f"{{0x{c:X}, {d}, {n}, {s}}}" for c, n, s, d in sorted(runs)), 6)
    print("// count neighbouring code points become block_values[offset …], in the given plane.")
    emit("blocks", "Block", (f"{{0x{c:X}, {o}, {n}, {p}}}" for c, n, p, o in blocks), 6)
    emit("block_values", "std::uint16_t", (f"0x{v:X}" for v in values), 16)
    print("// Code points that become two or three.")
    emit("expansions", "Expansion", ("{0x%X, {%s}}" % (c, ", ".join(f"0x{x:X}" for x in out)) for c, out in sorted(longer.items())), 4)
    capitals = strided([c for c in CODE_POINTS if unicodedata.category(chr(c)) in ("Lu", "Lt")])
    print("// count capital or title-case letters, `stride` apart.")
    emit("capitals", "Capitals", (f"{{0x{c:X}, {n}, {s}}}" for c, n, s in capitals), 8)
    size = 8 * len(capitals) + 4 * len(property_ranges) + 4 * len(class_ranges) + 12 * len(runs) + 8 * len(blocks) + 2 * len(values) + 16 * len(longer)
    print(f"{len(property_ranges)} property ranges, {len(class_ranges)} class ranges, {len(runs)} runs, {len(blocks)} blocks, "
          f"{len(values)} values, {len(longer)} expansions, {len(capitals)} rows of capitals: {size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
