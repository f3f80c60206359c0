"""Run a schedule in GOAL, each operation when all that it requires have: does it end?

goal.py FILE: prints the numbers of ranks, sends, bytes sent; fails if operations are left, or if a
send has no recv, or another number of bytes than that.
"""
import collections
import re
import sys

LINE = re.compile(r'(l\d+): (?:calc \d+|(send|recv) (\d+)b (?:to|from) (\d+) tag (\d+))$')
REQUIRES = re.compile(r'(l\d+) requires (l\d+)$')

ranks = -1
waits = collections.defaultdict(set)  # operation: those that wait for it
missing = {}                          # operation: how many it waits for
ends = collections.defaultdict(dict)  # (from, to, tag): send, recv: operation, bytes
for line in open(sys.argv[1]):
    line = line.strip()
    if not line or line == '}' or re.fullmatch(r'num_ranks \d+', line):
        continue
    if line == 'rank %d {' % (ranks + 1):
        ranks += 1
        continue
    if m := REQUIRES.match(line):
        later, earlier = (ranks, m[1]), (ranks, m[2])
        assert later in missing and earlier in missing, line
        if later not in waits[earlier]:
            waits[earlier].add(later)
            missing[later] += 1
        continue
    m = LINE.match(line)
    assert m, line
    assert (ranks, m[1]) not in missing, line
    missing[ranks, m[1]] = 0
    if m[2]:
        way = (ranks, int(m[4])) if m[2] == 'send' else (int(m[4]), ranks)
        assert m[2] not in ends[way, m[5]], line
        ends[way, m[5]][m[2]] = ((ranks, m[1]), int(m[3]))
for way, end in ends.items():
    assert len(end) == 2 and end['send'][1] == end['recv'][1], (way, end)
    waits[end['send'][0]].add(end['recv'][0])
    missing[end['recv'][0]] += 1

ready = [operation for operation, n in missing.items() if not n]
done = 0
while ready:
    done += 1
    for later in waits[ready.pop()]:
        missing[later] -= 1
        if not missing[later]:
            ready.append(later)
assert done == len(missing), '%d of %d operations' % (done, len(missing))
print(ranks + 1, len(ends), sum(end['send'][1] for end in ends.values()))
