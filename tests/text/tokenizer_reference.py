#!/usr/bin/env python3
"""Holds the engine's tokenizer to the reference, Hugging Face `tokenizers` with the model's own tokenizer.json.

    tokenizer_reference.py --program BUILD/tests/text/tokenizer_program --tokenizer DIR/tokenizer.json
                           --vocab DIR/vocab.txt [--python VENV/bin/python] [--count 24000] [--seed N]

Ids, type ids, offsets (the reference counts code points, the engine bytes) and the number of tokens cut must be equal for
every string. The strings are fresh in every run; the seed is printed. The first difference ends the test with exit 1.
With --python the script runs itself again under that interpreter, which must have `tokenizers` installed.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import threading
import unicodedata

WORDS = """a the docker container's isn't running compose-file.yml daemon.json --memory=512m COMPOSE_PROJECT_NAME 172.17.0.1
https://docs.docker.com/engine/install/?tab=a#b `docker run -it --rm` ## Heading | cell | **bold** [link](a/b.md) <br/> &amp;
naïve Café Ångström ÉCOLE résumé coöperate Straße ẞ İstanbul ıſ Σίσυφος ΟΔΟΣ Ёлка й Ў việt Nguyễn Łódź đ Øre æ œ ﬁ ﬃ ǅ ǆ
日本語 コンテナ 容器网络 한국어 도커 컨테이너 が ガ ｶﾞ 々 〆 ー 中a文 豈 更 丽 ไทย ภาษาไทย हिन्दी क़ि ভাষা কৌ தமிழ் கொ ಕೋ ക്ഷ മലയാളം සිංහල ᬆ עִבְרִית العَرَبِيَّة فارسی‌ها
👍 👩‍👩‍👧 🇩🇪 ❤️ 1️⃣ 🏽 𝐀𝟘 𐐀𐐨 ẛ̣ ① Ⅷ ½ x² ™ € £ ¥ § © … “quoted” ‘single’ – — · • ‽ ¿ ¡ « » 、 。 「」 ＡＢＣ１２３！
[CLS] [SEP] [MASK] [UNK] [PAD] [cls] [MASK]x [[SEP]] ##ing unaffable antidisestablishmentarianism supercalifragilistic
\u00a0 \u2003 \u3000 \u200b \u200d \ufeff \u00ad \u2028 \u2029 \u0085 \x00 \x07 \x1b[0m \x7f \t \n \r\n \v \f \ufffd \ue000 \U000f0000
Z\u0351\u036b\u0343a\u0328\u0301l\u0338g\u0323\u0307o e\u0301 \u0344 \u0958 \u0f73 \u1d160 \u1d165 \U0001d15e \U0001d1bd \u302e \u302f \u1b44 \u08d4""".split(" ")

# Marks that the reference keeps though they take part in canonical ordering, and marks that it orders and drops.
KEPT_MARKS = [0x1B44, 0x1BAA, 0x1BF2, 0x302E, 0x302F, 0xA953, 0x111C0, 0x1D165, 0x1D166, 0x1D16D, 0x1D16E, 0x08D4, 0x1DFB, 0x1E000,
              0x1E94A, 0x11442, 0x1ABF, 0x16FF0, 0x07FD]
DROPPED_MARKS = [0x0300, 0x0301, 0x0316, 0x0323, 0x0327, 0x0328, 0x0334, 0x0338, 0x0345, 0x0344, 0x034F, 0x05B0, 0x064B, 0x093C,
                 0x094D, 0x0E38, 0x0F71, 0x0F73, 0x0F81, 0x20D0, 0x3099, 0xFE20, 0x1D167, 0x1D17B]
BLOCKS = [(0x20, 0x7F), (0x00, 0x100), (0x100, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE00), (0xE00, 0x1000),
          (0x1000, 0x1200), (0x1100, 0x1200), (0x1AB0, 0x1B80), (0x1E00, 0x2000), (0x2000, 0x2100), (0x2100, 0x2500), (0x2E80, 0x3100),
          (0x3040, 0x3400), (0x4E00, 0xA000), (0xA000, 0xAC00), (0xAC00, 0xD7FF), (0xE000, 0x10000), (0xF900, 0xFB50), (0xFE00, 0xFFFF),
          (0x10000, 0x12000), (0x16000, 0x17000), (0x1D000, 0x1D800), (0x1E000, 0x1F000), (0x1F000, 0x20000), (0x2F800, 0x2FA20),
          (0xE0000, 0xE0200), (0, 0x110000)]


def code_point(rng, low, high):
    while True:
        c = rng.randrange(low, high)
        if not 0xD800 <= c <= 0xDFFF:
            return chr(c)


def piece(rng, vocabulary):
    kind = rng.randrange(10)
    if kind <= 2:
        return rng.choice(WORDS)
    if kind == 3:
        return rng.choice(vocabulary).removeprefix("##")
    if kind == 4:
        return "".join(rng.choice(vocabulary).removeprefix("##") for _ in range(rng.randrange(1, 5)))
    if kind == 5:
        return "".join(code_point(rng, 0, 0x110000) for _ in range(rng.randrange(1, 6)))
    if kind == 6:
        low, high = rng.choice(BLOCKS)
        return "".join(code_point(rng, low, high) for _ in range(rng.randrange(1, 12)))
    if kind == 7:
        marks = [chr(rng.choice(rng.choice((KEPT_MARKS, DROPPED_MARKS)))) for _ in range(rng.randrange(1, 6))]
        return rng.choice(["a", "é", "ệ", "𝅘𝅥", "\U0001D160", "が", "中", " ", "", "क", "क़", "가", "Å"]) + "".join(marks)
    if kind == 8:
        word = rng.choice(WORDS)
        return rng.choice([word.upper(), word.title(), word.swapcase(), unicodedata.normalize(rng.choice(["NFC", "NFD", "NFKC"]), word)])
    # Words about as long as the limit of 100 characters.
    return rng.choice(["a", "é", "e\u0301", "x1", "ab-", "ǆ", "ಕೋ"]) * rng.randrange(20, 130)


def string(rng, vocabulary):
    if rng.random() < 0.01:
        return ""
    parts = [piece(rng, vocabulary) for _ in range(rng.choice([1, 1, 2, 3, 5, 8, 13]))]
    return rng.choice(["", " ", " ", "\n"]).join(parts)


def byte_offsets(text):
    """Byte offset of every code point boundary."""
    offsets = [0]
    for char in text:
        offsets.append(offsets[-1] + len(char.encode()))
    return offsets


def expected(tokenizer, request):
    """What the engine must answer, from the reference without truncation: it cuts the passage, then the query."""
    text, pair, limit = request["text"], request["pair"], request["max"]
    encoding = tokenizer.encode(text, pair)
    offsets = (byte_offsets(text), byte_offsets(pair or ""))
    sides = {0: [], 1: []}
    specials = []
    for id_, type_, span, sequence in zip(encoding.ids, encoding.type_ids, encoding.offsets, encoding.sequence_ids):
        if sequence is None:
            specials.append(id_)
        else:
            sides[sequence].append((id_, type_, [offsets[sequence][span[0]], offsets[sequence][span[1]]]))
    cls, sep = specials[0], specials[1]
    room = limit - (2 if pair is None else 3)
    kept = sides[0][:room]
    rows = [(cls, 0, [0, 0]), *kept, (sep, 0, [0, 0])]
    cut = len(sides[0]) - len(kept)
    if pair is not None:
        passage = sides[1][:room - len(kept)]
        rows += [*passage, (sep, 1, [0, 0])]
        cut += len(sides[1]) - len(passage)
    return {"ids": [r[0] for r in rows], "types": [r[1] for r in rows], "spans": [r[2] for r in rows], "cut": cut}


def check_truncation(tokenizer, request, want):
    """Where the reference itself can truncate the passage only, the derived expectation must be what it gives."""
    tokenizer.enable_truncation(request["max"], strategy="only_second")
    try:
        encoding = tokenizer.encode(request["text"], request["pair"])
    except Exception:
        return False  # the reference refuses to empty the passage; the engine's contract goes further
    finally:
        tokenizer.no_truncation()
    if encoding.ids != want["ids"] or encoding.type_ids != want["types"]:
        sys.exit(f"The test misreads the reference's truncation of {json.dumps(request)}")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--python")
    parser.add_argument("--count", type=int, default=24000)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    if options.python:
        arguments = iter(sys.argv[1:])
        rest = []
        for argument in arguments:
            if argument == "--python":
                next(arguments, None)
            elif not argument.startswith("--python="):
                rest.append(argument)
        os.execv(options.python, [options.python, os.path.abspath(__file__), *rest])

    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(options.tokenizer)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    vocabulary = [token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])]
    with open(options.vocab, encoding="utf-8", newline="\n") as lines:
        if [line.rstrip("\r\n") for line in lines] != vocabulary:
            sys.exit(f"{options.vocab} and {options.tokenizer} hold different vocabularies")

    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"tokenizers {tokenizers.__version__}, seed {seed}", flush=True)
    rng = random.Random(seed)
    requests = []
    # Every code point once, alone between letters: 110 strings of 10,000 code points.
    for begin in range(0, 0x110000, 10000):
        points = (chr(c) for c in range(begin, min(begin + 10000, 0x110000)) if not 0xD800 <= c <= 0xDFFF)
        requests.append({"text": "".join(f"e{c}x " for c in points), "pair": None, "max": 1 << 30})
    while len(requests) < options.count:
        text = string(rng, vocabulary)
        pair = string(rng, vocabulary) if rng.random() < 0.4 else None
        limit = rng.choice([512, 256, 64, 16, 8, 4, 3]) if rng.random() < 0.5 else 1 << 20
        requests.append({"text": text, "pair": pair, "max": limit})

    program = subprocess.Popen([options.program, options.vocab], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               encoding="utf-8")

    def feed():
        try:
            for request in requests:
                program.stdin.write(json.dumps(request) + "\n")
            program.stdin.close()
        except BrokenPipeError:
            pass  # the reader reports how the program ended

    threading.Thread(target=feed, daemon=True).start()
    truncated = 0
    for number, request in enumerate(requests):
        line = program.stdout.readline()
        if not line:
            sys.exit(f"The program stopped (exit {program.wait()}) at string {number}, seed {seed}: {json.dumps(request)[:2000]}")
        got, want = json.loads(line), expected(tokenizer, request)
        if request["pair"] is not None:
            truncated += check_truncation(tokenizer, request, want)
        if got == want:
            continue
        program.kill()
        for field in ("ids", "types", "spans", "cut"):
            if got[field] != want[field]:
                print(f"string {number}, seed {seed}: {field} differ", file=sys.stderr)
                if field != "cut":
                    at = next((i for i, (a, b) in enumerate(zip(got[field], want[field])) if a != b),
                              min(len(got[field]), len(want[field])))
                    print(f"  from {at}: engine {got[field][at:at + 8]}, reference {want[field][at:at + 8]}", file=sys.stderr)
                    begin = want["spans"][at][0] if at < len(want["spans"]) else 0
                    print(f"  near byte {begin}: {ascii(request['text'].encode()[max(0, begin - 12):begin + 24].decode(errors='replace'))}",
                          file=sys.stderr)
                else:
                    print(f"  engine {got[field]}, reference {want[field]}", file=sys.stderr)
        print(f"  request: {json.dumps(request)[:4000]}", file=sys.stderr)
        sys.exit(1)
    program.wait()
    print(f"{len(requests)} strings equal, {sum(r['pair'] is not None for r in requests)} of them pairs "
          f"({truncated} also truncated by the reference), every code point among them")


if __name__ == "__main__":
    main()
