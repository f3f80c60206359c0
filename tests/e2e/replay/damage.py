#!/usr/bin/env python3
"""Damage recorded traces at random and replay each: an error, never a crash or a hang.

    damage.py COUNT SEED TRACE...

A value of a row becomes nonsense, or a number within the JSON of a call, or
bytes of the file. One that went wrong is left in the file damaged-NUMBER.db. Exit status: 1 if any
did.
"""
import collections
import concurrent.futures
import os
import random
import re
import shutil
import sqlite3
import sys
import tempfile

from alter import run
from alterations import pick, pick_call, set_row

TABLES = ['call', 'post', 'wr', 'sge', 'poll', 'wc', 'object', 'process', 'thread', 'meta', 'ref',
          'payload', 'notify', 'device', 'port', 'gid', 'chunk']
GARBAGE = ['', '{', '[]', 'null', '{"qp":{}}', '{"attr":{"qp_state":-1}}', '\x00', '{"a":1e999}',
           '{"qp":18446744073709551616,"attr_mask":-1}', '[' * 3000]
NUMBERS = [-1, 0, 1, 255, 65536, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 63) - 1, -(1 << 63)]


def damage_row(db, rng):
    """A value of one row of one table becomes nonsense."""
    there = [each[0] for each in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = rng.choice([each for each in TABLES if each in there])
    row = pick(db, rng, f'SELECT * FROM {table}')
    if not row:
        return
    stored = [each[1] for each in db.execute(f'PRAGMA table_info({table})')]
    keys = [each[1] for each in db.execute(f'PRAGMA table_info({table})') if each[5]]
    column = rng.choice(stored)
    value = rng.choice(GARBAGE if column in ('args', 'out') else GARBAGE + NUMBERS * 2)
    try:
        db.execute(f'UPDATE OR REPLACE {table} SET {column} = ? WHERE ' +
                   ' AND '.join(f'{key} IS ?' for key in keys),
                   (value, *(row[key] for key in keys)))
    except sqlite3.Error:  # SQLite itself refuses it
        pass


def damage_json(db, rng):
    """A number within the JSON of a call becomes another, or a part of the text goes."""
    row = pick_call(db, rng, "c.args <> '{}'")
    column = rng.choice(['args', 'out']) if row['out'] else 'args'
    text, spots = row[column], list(re.finditer(r'-?\d+', row[column]))
    if spots and rng.random() < 0.8:
        spot = rng.choice(spots)
        text = text[:spot.start()] + str(rng.choice(NUMBERS)) + text[spot.end():]
    elif text:
        begin = rng.randrange(len(text))
        text = text[:begin] + text[begin + rng.randrange(20):]
    set_row(db, 'call', row, **{column: text})


def damage_bytes(path, rng):
    with open(path, 'r+b') as file:
        size = file.seek(0, 2)
        if rng.random() < 0.2:
            file.truncate(rng.randrange(size))
            return
        for _ in range(rng.choice([1, 10, 100])):
            file.seek(rng.randrange(size))
            file.write(bytes([rng.getrandbits(8)]))


def try_damage(job):
    _, seed, trace, folder = job
    rng = random.Random(seed)
    copy = os.path.join(folder, f'{seed}.db')
    shutil.copyfile(trace, copy)
    how = rng.choice(['row', 'row', 'json', 'json', 'bytes'])
    if how == 'bytes':
        damage_bytes(copy, rng)
    else:
        db = sqlite3.connect(copy, isolation_level=None)
        db.row_factory = sqlite3.Row
        for _ in range(rng.choice([1, 3, 30])):
            (damage_row if how == 'row' else damage_json)(db, rng)
        db.close()
    status, _, error = run(copy, rng.choice(['none', 'recorded']))
    crashed = 'ended by signal' in error  # where a separate thread writes the report
    if status is None or status < 0 or status > 4 or crashed or (status == 3 and not error):
        kept = f'damaged-{seed}.db'
        shutil.copyfile(copy, kept)
        return job, 'hang' if status is None else f'status {status}', (how, error.strip()[-300:])
    os.unlink(copy)
    return job, f'exit {status}', None


def damage_all(count, seed, traces):
    table, bad = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [('damage', seed * 1000000 + i, traces[i % len(traces)], folder)
                for i in range(count)]
        for job, verdict, told in pool.map(try_damage, jobs):
            table[verdict] += 1
            if told:
                bad += 1
                print(f'  {verdict}: {job[1]} {job[2]}: {told}')
    print('  ' + ', '.join(f'{n} x {verdict}' for verdict, n in sorted(table.items())))
    return bad > 0


if __name__ == '__main__':
    sys.exit(damage_all(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
