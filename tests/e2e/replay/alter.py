#!/usr/bin/env python3
"""Alter recorded traces at random, replay each, and print what the replay said of it.

    alter.py COUNT SEED TRACE...      COUNT alterations of these traces, which are unpacked
    alter.py --one KIND SEED TRACE    one of them, left in the file altered.db
    KINDS=a,b FAULTS=recorded         only these, and errors are injected as recorded

What changes a promise of verbs must be the first divergence, at its event: the event itself, or
named by it as the request or the sender of a completion. What changes none must not be reported.
The table has a line for each kind; below it stands each miss, repeated by --one. Exit
status 0: at least AT_LEAST of the first were found, and none of the others was reported.
"""
import collections
import concurrent.futures
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from alterations import KINDS

VERBATIM = os.environ.get('VERBATIM', 'build/verbatim')
SECONDS = 60  # then it hangs
FAULTS = os.environ.get('FAULTS', 'none')  # recorded: an altered error is injected
ONLY = [name for name in os.environ.get('KINDS', '').split(',') if name]
AT_LEAST = float(os.environ.get('AT_LEAST', 0.95))


# The result of a replay
def run(path, faults=FAULTS, report=None):
    """Exit status (None: it hung), report (None: there is none) and what was said."""
    report = report or path + '.json'
    command = [VERBATIM, 'replay', '--device', 'soft', '--timeout', '1s', '--faults', faults,
               '--report', report, path]
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, None, ''
    try:
        with open(report) as file:
            return done.returncode, json.load(file), done.stderr.decode(errors='replace')
    except (OSError, ValueError):
        return done.returncode, None, done.stderr.decode(errors='replace')


def names_of(divergence):
    return {divergence[key] for key in ('event', 'request', 'sender') if key in divergence}


def left_out(report):
    return report['left_out'], report['lacking'], report['made']


def judge(promise, places, before, status, report, error):
    """at its event, elsewhere, left out, refused, silent, hang, crash; reported, quiet. @before is
    the report of the trace as it was."""
    if status is None:
        return 'hang'
    if status < 0 or status > 4 or 'ended by signal' in error:
        return 'crash'
    if not report:
        return 'refused' if error else 'crash'
    first = report['divergence'][0] if report['divergence'] else None
    same = left_out(report) == left_out(before)
    if not promise:
        return 'quiet' if same and not first else 'reported'
    if first:
        wanted = {f'{thread}:{n}' for thread, n in places}
        return 'at its event' if names_of(first) & wanted else 'elsewhere'
    return 'silent' if same else 'left out'


def alter_copy(trace, copy, name, seed):
    """Alter a copy of @trace; the events to be found, or None."""
    shutil.copyfile(trace, copy)
    db = sqlite3.connect(copy, isolation_level=None)
    db.row_factory = sqlite3.Row
    db.execute('PRAGMA synchronous = off')
    db.execute('PRAGMA journal_mode = off')
    db.execute('BEGIN')
    places = KINDS[name][1](db, random.Random(seed))
    db.execute('COMMIT')
    db.close()
    return places


def try_one(job):
    name, seed, trace, folder, before = job
    copy = os.path.join(folder, f'{seed}.db')
    places = alter_copy(trace, copy, name, seed)
    if places is None:
        return job, None, None
    status, report, error = run(copy)
    for path in (copy, copy + '.json'):
        if os.path.exists(path):
            os.unlink(path)
    verdict = judge(KINDS[name][0], places, before, status, report, error)
    first = report and report['divergence'] and report['divergence'][0]
    return job, verdict, (sorted(places)[:3], first or error.strip()[:200])


def plan(count, seed, traces, folder):
    """For each kind in turn a trace and a seed of its own, without end."""
    names = ONLY or sorted(KINDS)
    before = {trace: run(trace, report=os.path.join(folder, 'before'))[1] for trace in traces}
    for trace in traces:
        if not before[trace] or before[trace]['divergences']:
            sys.exit(f'{trace} diverges as it is: {before[trace] and before[trace]["divergence"]}')
    for i in range(count * 20):
        number = seed * 1000000 + i
        rng = random.Random(number)
        trace = rng.choice(traces)
        yield names[i % len(names)], number, trace, folder, before[trace]


def take(count, jobs, pool):
    """@count results of those that had something to alter."""
    done = 0
    running = set()
    for job in jobs:
        running.add(pool.submit(try_one, job))
        while len(running) >= 2 * pool._max_workers:
            finished, running = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED)
            for each in finished:
                if each.result()[1]:
                    done += 1
                    yield each.result()
        if done + len(running) >= count + 2 * pool._max_workers:
            break
    for each in running:
        if each.result()[1] and done < count:
            done += 1
            yield each.result()


GOOD = ('at its event', 'quiet')
COLUMNS = ('at its event', 'elsewhere', 'left out', 'refused', 'silent', 'hang', 'crash', 'quiet',
           'reported')


def print_table(table):
    print(f'  {"alteration":34}' + ''.join(f'{each:>13}' for each in COLUMNS))
    for promise in (True, False):
        for name in sorted(name for name in table if KINDS[name][0] == promise):
            print(f'  {name:34}' + ''.join(f'{table[name][each] or "":>13}' for each in COLUMNS))
    print(f'  {"all":34}' + ''.join(
        f'{sum(row[each] for row in table.values()) or "":>13}' for each in COLUMNS))


def alter_all(count, seed, traces):
    table, misses = collections.defaultdict(collections.Counter), []
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for job, verdict, told in take(count, plan(count, seed, traces, folder), pool):
            table[job[0]][verdict] += 1
            if verdict not in GOOD:
                misses.append((job, verdict, told))
    print_table(table)
    for (name, number, trace, *_), verdict, told in sorted(misses, key=lambda m: m[0][:2]):
        print(f'  {verdict}: --one "{name}" {number} {trace}: {told[0]}: {told[1]}')
    promised = [row for name, row in table.items() if KINDS[name][0]]
    total = sum(sum(row.values()) for row in promised)
    found = sum(row['at its event'] for row in promised)
    bad = sum(row[each] for row in table.values() for each in ('hang', 'crash', 'reported'))
    print(f'  {found} of {total} that change a promise are the first divergence, at their event; '
          f'{bad} hung, crashed or were reported without cause')
    return 0 if found >= AT_LEAST * total and not bad else 1


if __name__ == '__main__':
    if sys.argv[1] == '--one':
        print(alter_copy(sys.argv[4], 'altered.db', sys.argv[2], int(sys.argv[3])))
    else:
        sys.exit(alter_all(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
