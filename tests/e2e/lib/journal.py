#!/usr/bin/env python3
"""Lay something beside a database as a writer that was killed would leave it.

journal.py super TRACE FILE   a hot journal that changes nothing and names FILE as its super-journal
journal.py hot TRACE SQL      one that undoes SQL
journal.py wal TRACE SQL      a WAL that holds SQL
"""
import os
import shutil
import sqlite3
import struct
import sys
import tempfile

MAGIC = bytes.fromhex('d9d505f920a163d7')


def header(trace):
    """A journal without a page: page size and number of pages are those of the file."""
    with open(trace, 'rb') as f:
        page = int.from_bytes(f.read(18)[16:], 'big')
    page = 65536 if page == 1 else page
    pages = os.path.getsize(trace) // page
    return MAGIC + struct.pack('>5I', 0, 0, pages, 512, page) + bytes(512 - 28)


def put(path, data):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(fd, data)
    os.close(fd)


def name_super(trace, victim):
    name = os.path.abspath(victim).encode()
    checksum = sum(struct.unpack('%db' % len(name), name)) & 0xffffffff
    put(trace + '-journal', header(trace) + struct.pack('>I', 0x40000000 // 4096 + 1) + name +
        struct.pack('>II', len(name), checksum) + MAGIC)


def die_in(trace, sql, mode):
    """The state in which a process that dies in a transaction, or after one, leaves it."""
    if not os.fork():
        db = sqlite3.connect(trace, isolation_level=None)
        db.executescript('PRAGMA cache_size=1; PRAGMA journal_mode=%s; BEGIN; %s' % (mode, sql))
        if mode == 'WAL':
            db.execute('COMMIT')
        os._exit(0)
    os.wait()


def foreign_wal(trace, sql):
    with tempfile.TemporaryDirectory() as d:
        copy = os.path.join(d, 'copy')
        shutil.copy(trace, copy)
        die_in(copy, sql, 'WAL')
        with open(copy + '-wal', 'rb') as f:
            put(trace + '-wal', f.read())


what, trace, arg = sys.argv[1:]
if what == 'super':
    name_super(trace, arg)
elif what == 'hot':
    die_in(trace, arg, 'DELETE')
else:
    foreign_wal(trace, arg)
