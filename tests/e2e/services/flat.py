"""flat.py TRACE SIZE COMMAND...: run a recording, and print how large its file, the file's log and
the recorder's memory were at ten times while the program ran, and at most after it; fail if one of
them grew after the file was full

The second half must not need more than the time from when the file was full to the middle did: a
tenth more at most, since the sizes of a flight recorder vary, and a little for the log and memory,
which do not depend on the file's. Neither then nor while the trace is completed may the recorder
have more memory than is documented.
"""
import os
import subprocess
import sys
import time


def size(path):
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def memory(pid):
    """KiB that only this process has."""
    for line in read('/proc/%d/status' % pid).splitlines():
        if line.startswith('RssAnon:'):
            return int(line.split()[1])
    return 0


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ''


def is_running(pid, program):
    """Does the recorder's child @program run? It has another one."""
    for child in read('/proc/%d/task/%d/children' % (pid, pid)).split():
        comm, _, state = read('/proc/%s/stat' % child).rpartition(') ')
        if comm.endswith('(' + program) and state[:1] not in 'XZ':
            return True
    return False


LEAST = 48 << 10  # KiB, most of it a cache for completing the trace
OBJECTS = 10  # bytes for each byte of a file: an object of few bytes has hundreds in memory

trace, limit, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
program = os.path.basename(command[command.index('--') + 1])[:15]
process = subprocess.Popen(command)
begin = time.monotonic()
samples, after = [], []
while process.poll() is None:
    sample = (time.monotonic() - begin, size(trace), size(trace + '-wal'), memory(process.pid))
    (samples if is_running(process.pid, program) or not samples else after).append(sample)
    time.sleep(0.05)

step = max(len(samples) // 10, 1)
print('%8s %12s %12s %12s' % ('s', 'file', 'log', 'memory KiB'))
for sample in samples[step - 1::step]:
    print('%8.1f %12d %12d %12d' % sample)
most = [max((s[column] for s in after), default=0) for column in range(4)]
print('%8.1f %12d %12d %12d  completing' % tuple(most))
middle = len(samples) // 2
largest = max(s[1] for s in samples)
full = next(i for i, s in enumerate(samples) if s[1] >= 0.9 * largest)
wrong = process.returncode
if full >= middle:
    print('the file was not full in the first half: %d samples of %d' % (full, len(samples)))
    wrong = wrong or 1
else:
    # the log is as long as the longest transaction was: about a tenth of the limit
    for column, name, more in ((1, 'file', 0), (2, 'log', (256 << 10) + limit // 32),
                               (3, 'memory', 1 << 10)):
        first = max(s[column] for s in samples[full:middle])
        last = max(s[column] for s in samples[middle:])
        if last > first * 1.1 + more:
            print('%s grew from %d to %d' % (name, first, last))
            wrong = wrong or 1
    largest = max(most[3], max(s[3] for s in samples))
    if largest > LEAST + limit * OBJECTS / 1024:
        print('the recorder had %d KiB' % largest)
        wrong = wrong or 1
sys.exit(wrong)
