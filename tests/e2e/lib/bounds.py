#!/usr/bin/env python3
"""Traces that ask for more than anybody has, and what each command makes of them.

bounds.py VERBATIM LOOP-TRACE PAYLOAD-TRACE [WORD...]

Each case alters a copy of a recorded trace. No command may take 20 s of the processor without a
word, or 2 GiB, or end but with 0, 1, or 3 and one sentence. Words choose cases; without them one in
four has its turn (tests/e2e/lib/try.sh).
"""
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

verbatim, loop, payload = sys.argv[1:4]
SECONDS, MIB = 20, 4096 if os.environ.get('SAN') else 2048  # sanitizers hold freed memory
FOR_EVER = 120  # for a busy machine
READ = (['info'], ['dump'], ['stat'], ['check'])
ALL = READ + (['replay', '--device', 'soft'],)
cases = []


def case(*commands, trace=loop):
    def add(alter):
        cases.append((alter.__name__.replace('_', ' '), alter, commands, trace))
        return alter
    return add


# Chunks: see core/store/chunk/batch.c and payload.c

def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def zigzag(n):
    return (n << 1 ^ n >> 63) & (1 << 64) - 1


def zstd(size, byte):
    """One frame of @size times the same byte: blocks of RLE."""
    frame = bytearray(bytes.fromhex('28b52ffd') + b'\xa0' + size.to_bytes(4, 'little'))
    while True:
        n = min(size, 1 << 17)
        size -= n
        frame += (n << 3 | 1 << 1 | (not size)).to_bytes(3, 'little') + bytes([byte])
        if not size:
            return bytes(frame)


COLUMNS = ('n time kind post_handle post_ret post_bad nwr poll_handle poll_ret empty nwc '
           'notify_handle solicited notify_ret wr_id opcode send_flags nsge parts imm').split()
WC = range(43, 56)


def linear(column, count, base=0, step=0):
    head = varint(column) + varint(0) + varint(count)
    return head + varint(zigzag(base)) + varint(zigzag(step)), b''


def packed(column, count, byte):
    data = zstd(count, byte)
    return varint(column) + varint(2) + varint(count) + varint(len(data)) + varint(count), data


def chunk(*columns):
    columns = sorted(columns, key=lambda c: c[0][0])
    heads, data = zip(*columns)
    return bytes([1, len(columns)]) + b''.join(heads) + b''.join(data)


def notifies(rows):
    c = COLUMNS.index
    return chunk(linear(c('n'), rows, 1000, 1), linear(c('time'), rows, 0, 1),
                 linear(c('kind'), rows, 5), packed(c('notify_handle'), rows, 2),
                 packed(c('solicited'), rows, 2), packed(c('notify_ret'), rows, 2))


def polls(first, events, each):
    """Few bytes, but all columns of completions are to be decoded."""
    c = COLUMNS.index
    return chunk(linear(c('n'), events, 1000, 1), linear(c('time'), events, first, 1 << 20),
                 linear(c('kind'), events, 4), linear(c('poll_handle'), events),
                 linear(c('poll_ret'), events), linear(c('empty'), events),
                 linear(c('nwc'), events, each),
                 *(packed(column, events * each, 2) for column in WC))


def add_threads(db, n, data):
    process = db.execute('SELECT min(id) FROM process').fetchone()[0]
    for thread in range(100, 100 + n):
        db.execute("INSERT INTO thread VALUES(?, ?, 1, 'x', 1, 0, 1)", (thread, process))
        db.execute('INSERT INTO chunk(thread, first_n, last_n, begin, end, events, data)'
                   ' VALUES(?, 1000, 9999, 0, 9, 1, ?)', (thread, data(thread)))


@case(*READ, ['sql', 'SELECT count(*), sum(solicited_only) FROM notify'])
def a_chunk_of_more_rows_than_are_written(db):
    data = notifies(1 << 24)
    add_threads(db, 12, lambda thread: data)


@case(['check'], ['stat'])
def chunks_of_many_threads_at_once(db):
    add_threads(db, 150, lambda thread: polls(thread, 2, 49000))


@case(['dump'], ['sql', 'SELECT count(*), max(captured), sum(length(bytes)) FROM payload'],
      trace=payload)
def payloads_of_many_threads(db):
    size = 64 << 20
    row = varint(zigzag(1000)) + varint(0) + varint(0) + bytes([0, 0, 0])
    row += varint(size) + varint(size)
    raw = zstd(size, 0)
    # a raw block for the row, before those of the payload
    frame = raw[:5] + (size + len(row)).to_bytes(4, 'little')
    frame += (len(row) << 3).to_bytes(3, 'little') + row + raw[9:]
    data = bytes([1]) + varint(1) + varint(2) + varint(size + len(row)) + frame
    for thread in range(100, 164):
        db.execute("INSERT INTO thread VALUES(?, 1, 1, 'x', 1, 0, 1)", (thread,))
        db.execute('INSERT INTO payload_chunk'
                   '(thread, first_n, last_n, begin, end, events, bytes, data)'
                   ' VALUES(?, 1000, 1000, 0, 0, 1, 0, ?)', (thread, data))


@case(['sql', 'SELECT sum(length(bytes)) FROM payload'], ['dump'], trace=payload)
def a_payload_chunk_of_gigabytes(db):
    size = (4 << 30) - 1
    data = bytes([1]) + varint(1) + varint(2) + varint(size) + zstd(size, 0)
    db.execute('INSERT INTO payload_chunk(thread, first_n, last_n, begin, end, events, bytes, data)'
               ' VALUES(1, 100000, 100000, 0, 0, 1, 0, ?)', (data,))


# Ids

@case(*ALL)
def a_process_of_a_huge_number(db):
    db.execute('UPDATE process SET id = (1 << 24) - 1')
    db.execute('UPDATE object SET process = (1 << 24) - 1')


@case(*ALL)
def a_thread_of_a_huge_number(db):
    db.execute("INSERT INTO thread VALUES((1 << 24) - 1, 1, 1, 'x', 1, 0, 1)")


@case(*ALL, ['report'], ['export'], ['emit'])
def threads_of_a_process_of_a_huge_number(db):
    db.execute('UPDATE thread SET process = (1 << 31) - 1')


@case(*ALL, ['report'])
def polls_that_a_thread_of_a_huge_number_counted(db):
    db.execute('INSERT INTO poll_count VALUES((1 << 31) - 1, 1, 1, 1, (1 << 31) - 1, 1, 1, 1, 1)')


@case(*ALL)
def numbers_of_62_bits(db):
    for table, columns in (('object', 'process ordinal number rkey created_thread created_n'),
                           ('call', 'process stack object handle end_n'),
                           ('thread', 'process events')):
        for column in columns.split():
            which = 'rowid IN (SELECT min(rowid)' if table != 'call' else 'n = (SELECT max(n)'
            db.execute(f'UPDATE {table} SET {column} = 1 << 62 WHERE {which} FROM {table})')


# Objects

@case(*ALL)
def an_object_that_is_its_own_parent(db):
    db.execute("UPDATE object SET parent = id WHERE kind IN ('device', 'context')")


@case(*ALL)
def objects_that_are_each_others_parents(db):
    db.execute("UPDATE object SET parent = (SELECT id FROM object WHERE kind = 'pd')"
               " WHERE kind = 'context'")


@case(*ALL)
def objects_without_names(db):
    db.execute('UPDATE object SET name = NULL')


@case(*ALL)
def processes_that_are_each_others_parents(db):
    db.execute('UPDATE process SET parent = id')
    db.execute('INSERT INTO process(id, pid, parent, start, thread, n)'
               ' VALUES(9, 9, 10, 0, 1, 1), (10, 10, 9, 0, 1, 2)')


def inherit(db, objects, processes):
    row, = db.execute("SELECT * FROM call WHERE verb = 'ibv_alloc_pd'").fetchall()
    out = json.loads(row[14])
    db.execute("INSERT INTO thread VALUES(5, 1, 5, 'x', 1, 0, 1)")
    for i in range(objects):
        new = list(row)
        new[0], new[1], new[16], new[12], new[15] = 5, 1 + 2 * i, 2 + 2 * i, 0, 4096 + 16 * i
        new[4] = new[5] = row[5] - 1
        new[6], new[14] = new[15], json.dumps(out)
        db.execute('INSERT INTO call VALUES(' + ','.join('?' * len(new)) + ')', new)
    for i in range(10, 10 + processes):
        db.execute("INSERT INTO thread VALUES(?, ?, ?, 'x', 1, 0, 1)", (i, i, i))
        db.execute('INSERT INTO process(id, pid, parent, fork_time, start, thread, n)'
                   ' VALUES(?, ?, 1, ?, ?, ?, 1)', (i, i, row[5] + 1, row[5] + 1, i))


@case(['check'])
def forks_that_inherit_much(db):
    inherit(db, 3000, 4000)


# Times

@case(*READ)
def times_at_both_ends_of_64_bits(db):
    db.execute('UPDATE call SET begin = -(1 << 63), end = (1 << 63) - 1'
               ' WHERE n = (SELECT min(n) FROM call)')
    db.execute('UPDATE call SET begin = (1 << 63) - 1, end = -(1 << 63)'
               ' WHERE n = (SELECT max(n) FROM call)')
    db.execute('UPDATE object SET created_at = -(1 << 63), destroyed_at = (1 << 63) - 1')
    db.execute('UPDATE chunk SET begin = -(1 << 63), end = (1 << 63) - 1')
    db.execute('UPDATE process SET start = (1 << 63) - 1, end = -(1 << 63), fork_time = -(1 << 63)')


# Arguments

def set_argument(db, value):
    calls = db.execute("SELECT thread, n, args FROM call WHERE verb = 'ibv_modify_qp'").fetchall()
    for thread, n, args in calls:
        args = '{' + ','.join(f'"{k}":{value if k == "attr" else json.dumps(v)}'
                              for k, v in json.loads(args).items()) + '}'
        db.execute('UPDATE call SET args = ? WHERE thread = ? AND n = ?', (args, thread, n))


@case(['dump'])
def arguments_nested_without_end(db):
    set_argument(db, '[' * 300000)


@case(*ALL)
def arguments_nested_deeply(db):
    set_argument(db, '[' * 1000 + '{"ah_attr":' * 1000 + '1' + '}' * 1000 + ']' * 1000)


@case(['dump'])
def an_argument_with_many_addresses(db):
    gid = '{"ah_attr":{"grh":{"dgid":{"raw":"' + '0' * 32 + '"}}}}'
    set_argument(db, '[' + ','.join([gid] * 40000) + ']')


@case(*ALL)
def arguments_longer_than_any(db):
    set_argument(db, '[' + '{},' * 8000000 + '1]')


# Replay

def set_all(db, verb, alter):
    calls = db.execute('SELECT thread, n, args, out FROM call WHERE verb = ?', (verb,)).fetchall()
    for thread, n, args, out in calls:
        args, out = json.loads(args), json.loads(out)
        alter(args, out)
        db.execute('UPDATE call SET args = ?, out = ? WHERE thread = ? AND n = ?',
                   (json.dumps(args), json.dumps(out), thread, n))


@case(['replay', '--device', 'soft'])
def regions_of_12_gigabytes(db):
    set_all(db, 'ibv_reg_mr', lambda args, out: args.update(length=12 << 30))


@case(['replay', '--device', 'soft'])
def many_large_queues(db):
    row, = db.execute("SELECT * FROM call WHERE verb = 'ibv_create_cq'").fetchall()
    args = json.loads(row[13])
    args['cqe'] = 1 << 22
    for i in range(60):
        new = list(row)
        new[1], new[16], new[13] = (1 << 40) + 2 * i, (1 << 40) + 2 * i + 1, json.dumps(args)
        new[12] = db.execute("INSERT INTO object(process, kind, ordinal, name, handle, created_at)"
                             " VALUES(1, 'cq', ?, 'x', ?, 0)", (100 + i, i + 1)).lastrowid
        db.execute('INSERT INTO call VALUES(' + ','.join('?' * len(new)) + ')', new)


@case(['replay', '--device', 'soft', '--pace', 'recorded'])
def a_recording_of_years(db):
    db.execute('UPDATE call SET begin = begin + (1 << 60), end = end + (1 << 60) WHERE n > 2')


@case(['check'], ['stat'])
def completions_that_are_sought_for_long(db):
    handle, number = db.execute("SELECT handle, number FROM object WHERE kind = 'qp'").fetchone()
    cq, = db.execute("SELECT handle FROM object WHERE kind = 'cq'").fetchone()
    c, rows = COLUMNS.index, 60000
    posts = chunk(linear(c('n'), 1, 900), linear(c('time'), 1, 1 << 30), linear(c('kind'), 1, 1),
                  *(linear(c(name), 1, value) for name, value in
                    (('post_handle', handle), ('post_ret', 0), ('post_bad', 0), ('nwr', rows))),
                  linear(64 - 1, 1),
                  *(linear(c(name), rows) for name in ('wr_id', 'opcode', 'nsge', 'parts', 'imm')),
                  linear(c('send_flags'), rows, 2))
    found = chunk(linear(c('n'), 2, 1000, 1), linear(c('time'), 2, 1 << 31),
                  linear(c('kind'), 2, 4),
                  *(linear(c(name), 2, value) for name, value in
                    (('poll_handle', cq), ('poll_ret', 0), ('empty', 0), ('nwc', 49000))),
                  *(linear(column, 98000, {43: 7, 49: number}.get(column, 0)) for column in WC))
    db.execute('DELETE FROM chunk')
    for i, data in enumerate([posts] + [found] * 30):
        db.execute('INSERT INTO chunk(thread, first_n, last_n, begin, end, events, data)'
                   ' VALUES(1, ?, ?, 0, 9, 1, ?)', (900 + 100 * i, 999 + 100 * i, data))


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM, signal.SIGCHLD])


def is_progress():
    return 'so far' in open('err', errors='replace').read()


def wait_for(process, end):
    """Until it ends, or it is known that it will not soon."""
    while True:
        signal.sigwait([signal.SIGALRM, signal.SIGCHLD])
        ended = os.wait4(process.pid, os.WNOHANG)
        if ended[0]:
            return ended
        if is_progress() or time.monotonic() > end:
            raise TimeoutError


def run(arguments, trace):
    """What is wrong, or None."""
    command = [verbatim, arguments[0], *(arguments[1:] if arguments[0] == 'replay' else []), trace,
               *(arguments[1:] if arguments[0] == 'sql' else [])]
    with open('err', 'wb') as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=err, start_new_session=True, preexec_fn=limit)
        signal.setitimer(signal.ITIMER_REAL, 1, 1)
        end = time.monotonic() + FOR_EVER
        try:
            _, status, used = wait_for(process, end)
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            os.wait4(process.pid, 0)
            return None if is_progress() else f'says nothing for {FOR_EVER} s'
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            process.returncode = 0
    lines = open('err', errors='replace').read().splitlines(True)
    said = ''.join(line for line in lines
                   if ': running for ' not in line and ' events so far, ' not in line)
    status = os.waitstatus_to_exitcode(status)
    if used.ru_maxrss > MIB << 10:
        return f'takes {used.ru_maxrss >> 10} MiB'
    # ended by its limit, or that of a replay that it started
    if used.ru_utime + used.ru_stime >= SECONDS - 1:
        return None if is_progress() else f'says nothing for {SECONDS} s'
    if status not in (0, 1, 3) or (status == 3 and said.count('\n') != 1):
        return f'exit status {status}: {said[:300]}'
    return None


signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGCHLD])
turn, turns = int(os.environ.get('TURN', 0)), int(os.environ.get('TURNS', 4))
is_long = os.environ.get('LONG')
for i, (name, alter, commands, trace) in enumerate(cases):
    if sys.argv[4:] and not any(word in name for word in sys.argv[4:]):
        continue
    if not (sys.argv[4:] or is_long) and i % turns != turn:
        continue
    shutil.copy(trace, 'altered.db')
    db = sqlite3.connect('altered.db')
    alter(db)
    db.commit()
    db.close()
    wrong = [f'{" ".join(c)}: {w}' for c in commands if (w := run(c, 'altered.db'))]
    print('not ok' if wrong else 'ok',
          f'attack_bounds: {name}' + (': ' if wrong else '') + '; '.join(wrong), flush=True)
