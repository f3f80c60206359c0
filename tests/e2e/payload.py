"""Compare what a program says of its payloads with what a trace has of them.

usage: payload.py SAYS DB MODE VERBATIM

SAYS is what tests/apps/payload.c prints, MODE none, hash, full or a number.
Prints what differs, at most ten lines; the exit status says whether anything does.
"""
import subprocess
import sys


def rotate(x, n):
    return (x << n | x >> 64 - n) & M


M = (1 << 64) - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                      0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def stir(lane, word):
    return rotate((lane + word * P2) & M, 31) * P1 & M


def xxh64(data, seed):
    """XXH as its specification has it, word by word: none of the recorder's code."""
    at, n = 0, len(data)
    if n >= 32:
        lanes = [(seed + P1 + P2) & M, (seed + P2) & M, seed, (seed - P1) & M]
        while at + 32 <= n:
            for i in range(4):
                lanes[i] = stir(lanes[i], int.from_bytes(data[at + 8 * i:at + 8 * i + 8], 'little'))
            at += 32
        h = sum(rotate(lane, r) for lane, r in zip(lanes, (1, 7, 12, 18))) & M
        for lane in lanes:
            h = ((h ^ stir(0, lane)) * P1 + P4) & M
    else:
        h = (seed + P5) & M
    h = (h + n) & M
    while at + 8 <= n:
        h = (rotate(h ^ stir(0, int.from_bytes(data[at:at + 8], 'little')), 27) * P1 + P4) & M
        at += 8
    if at + 4 <= n:
        h = (rotate(h ^ int.from_bytes(data[at:at + 4], 'little') * P1 & M, 23) * P2 + P3) & M
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * P5 & M, 11) * P1 & M
    h = (h ^ h >> 33) * P2 & M
    h = (h ^ h >> 29) * P3 & M
    return h ^ h >> 32


SENT = "SELECT kind, wr_id, length, captured, before, hash, why, hex(p.bytes) FROM payload p" \
    " JOIN wr USING (thread, n, i) WHERE kind = 'send' ORDER BY p.thread, p.n, p.i"
GOT = "SELECT kind, wr_id, length, captured, before, hash, why, hex(p.bytes) FROM payload p" \
    " JOIN wc USING (thread, n, i) WHERE kind <> 'send' ORDER BY p.thread, p.n, p.i"


def ask(verbatim, db, sql):
    return subprocess.run([verbatim, 'sql', db, sql], check=True, capture_output=True,
                          text=True).stdout


def rows(verbatim, db):
    out = {}
    for sql in (SENT, GOT):
        for line in ask(verbatim, db, sql).splitlines():
            kind, wr_id, *rest = line.split('|')
            out.setdefault((kind, int(wr_id)), []).append(rest)
    return out


def expected(length, first, before, mode):
    whole = bytes((first + 7 * k) % 251 for k in range(length - before))
    keep = {'hash': 0, 'full': length}.get(mode)
    if keep is None:
        keep = min(length, int(mode) + before)
    return whole, keep, mode == 'hash' or keep == length


def differs(row, length, first, why, mode, seed):
    has_length, captured, before, digest, has_why, text = row
    before = int(before)
    if int(has_length) != length:
        return 'length %s' % has_length
    if first is None:
        return has_why != why and 'why %s' % has_why or digest and 'a hash' or \
            int(captured) and 'bytes'
    whole, keep, hashed = expected(length, first, before, mode)
    if has_why:
        return 'why %s' % has_why
    if int(captured) != keep or len(text) != 2 * keep:
        return 'captured %s of %d' % (captured, keep)
    if bytes.fromhex(text)[before:] != whole[:max(0, keep - before)]:
        return 'bytes %s' % text[:80]
    if digest != ('%016x' % xxh64(whole, seed) if hashed else ''):
        return 'hash %s' % digest
    return None


def main():
    says, db, mode, verbatim = sys.argv[1:]
    seed = int(ask(verbatim, db, "SELECT value FROM meta WHERE key = 'payload_seed'"), 16)
    has, wrong, total = rows(verbatim, db), [], 0
    for line in open(says):
        kind, wr_id, length, first, *why = line.split()
        row = has.get((kind, int(wr_id)), [])
        total += 1
        found = differs(row.pop(0), int(length), None if first == '-' else int(first),
                        why and why[0], mode, seed) if row else 'nothing'
        if found:
            wrong.append('%s: %s' % (line.strip(), found))
    wrong += ['more than was said: %s %s' % (key, row[:3]) for key, all_rows in has.items()
              for row in all_rows]
    if total < 20:
        wrong.append('the program said only %d things' % total)
    print('\n'.join(wrong[:10]))
    sys.exit(bool(wrong))


main()
