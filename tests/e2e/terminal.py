"""Runs every command on what is full of instructions to a terminal, and looks at each byte that
comes out.

terminal.py alter TRACE NEW names|json|raw|all
    what to alter: texts that leave a trace readable; strings of its JSON, too, as JSON allows; as
    it does not; every text there is
terminal.py run VERBATIM SAID TRACE
    all commands over a trace, in all formats; SAID is in their output
terminal.py run VERBATIM SAID
    all commands, with names of files and options
"""
import csv
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import unicodedata
import xml.etree.ElementTree

EVIL_UTF8 = '\x7f\u009b2J\u0085\u200b\u200e\u202e\u2028\u2029\u2066\u061c\ufeff\U000e0041'.encode()
EVIL = b'a\x1b]0;x\a\r\t\nFORGED \x1b[2J' + EVIL_UTF8
EVIL += b'\x9b31m\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80\xff b'
# columns that identify a row, and columns with JSON
KEPT = {('call', 'verb'), ('object', 'kind'), ('ref', 'path'), ('ref', 'kind'), ('mark', 'kind')}
JSON = {'args', 'out', 'attr'}
KEPT_META = ('realtime', 'duration', 'payload')
# a row for a table that the program left empty
ROWS = ['coverage(thread, n, process, time, what, detail, times) VALUES(1, 1, 1, 1, {0}, {0}, 1)',
        'event(thread, n, process, time, type) VALUES(1, 999999, 1, 1, {0})',
        'fork(thread, n, process, time, how, pid) VALUES(1, 999998, 1, 1, {0}, 5)',
        'finding(rule, name, severity, thread, n, time, process, place, object, message,'
        ' fingerprint, count) VALUES({0}, {0}, {0}, 1, 1, 1, 1, {0}, {0}, {0}, {0}, 1)']
# tables computed by verbatim sql
MADE = ['calls', 'completions', 'delays', 'failures', 'findings', 'mrs', 'peers', 'processes',
        'qps', 'queue_depth', 'requests', 'stacks', 'waits']
# output that does not go to a terminal
BINARY = ['pcapng', 'perfetto']
# cli/screen.c lets these through if colours are on
STYLES = rb'\x1b\[(?:0|1|2|31|32|33|35|36)m'
problems = []


def evil_json(old, evil):
    """With something at the end of each string."""
    return re.sub(rb'"(?=[,}\]])', lambda m: evil.replace(b'"', b'') + b'"', old)


def columns(db):
    tables = db.execute("SELECT CAST(name AS BLOB) FROM sqlite_master WHERE type = 'table'")
    for table in [name.decode() for (name,) in tables.fetchall()]:
        query = "SELECT CAST(name AS BLOB) FROM pragma_table_info('%s')" % table
        for row in db.execute(query).fetchall():
            yield table, row[0].decode()


def altered(table, column, value, i, what):
    if what == 'all':
        return b'%d' % i + EVIL
    if (table, column) in KEPT or (table == 'meta' and column == 'key'):
        return None
    if column not in JSON:
        return b'%d' % i + EVIL
    if what == 'names':
        return None
    return evil_json(value, EVIL_UTF8 if what == 'json' else EVIL)


def alter(path, new, what):
    with open(path, 'rb') as old, open(new, 'wb') as copy:
        copy.write(old.read())
    db = sqlite3.connect(new)
    db.text_factory = bytes  # not all of it is UTF-8
    for row in ROWS:
        db.execute('INSERT INTO ' + row.format("CAST(x'%s' AS TEXT)" % EVIL.hex()))
    for table, column in list(columns(db)):
        but = ' AND key NOT IN %r' % (KEPT_META,) if table == 'meta' else ''
        values = db.execute("SELECT DISTINCT {1} FROM {0} WHERE typeof({1}) = 'text'{2}".format(
            table, column, but)).fetchall()
        for i, (value,) in enumerate(values):
            evil = altered(table, column, value, i, what)
            if evil:
                db.execute("UPDATE OR IGNORE {0} SET {1} = CAST(x'{2}' AS TEXT)"
                           " WHERE {1} = CAST(x'{3}' AS TEXT)".format(
                               table, column, evil.hex(), value.hex()))
    db.commit()


def forbidden(c):
    return c != '\n' and unicodedata.category(c) in ('Cc', 'Cf', 'Cs', 'Zl', 'Zp')


def check_bytes(what, name, out, one_line):
    try:
        text = out.decode()
    except UnicodeDecodeError as e:
        around = out[max(0, e.start - 30):e.end + 10]
        problems.append('%s: %s is not UTF-8: %r' % (what, name, around))
        return
    bad = [i for i, c in enumerate(text) if forbidden(c)]
    if bad:
        problems.append('%s: raw in %s: %a' % (what, name, text[max(0, bad[0] - 30):bad[0] + 20]))
    if one_line and re.search('^FORGED', text, re.M):
        problems.append('%s: %s has a line of its own' % (what, name))


def parse(what, form, out):
    try:
        if form in ('json', 'sarif'):
            json.loads(out)
        elif form == 'jsonl':
            [json.loads(line) for line in out.split(b'\n')[:-1]]
        elif form in ('junit', 'xml'):
            xml.etree.ElementTree.fromstring(out)
        elif form == 'csv':
            list(csv.reader(io.StringIO(out.decode(), newline='')))
    except Exception as e:  # texts that may confuse the parser
        problems.append('%s: no %s: %s' % (what, form, e))


class Commands:
    def __init__(self, verbatim):
        self.verbatim = verbatim
        self.said = b''
        listed = subprocess.run([verbatim, 'help'], capture_output=True, text=True).stdout
        self.names = re.findall(r'^  (\w+)  +\w', listed, re.M)

    def formats(self, name):
        """As the command's help lists them."""
        told = subprocess.run([self.verbatim, 'help', name], capture_output=True, text=True).stdout
        listed = re.search(r'--format[ =]([a-z|]+)', told)
        return listed.group(1).split('|') if listed else [None]

    def run(self, name, args, form=None, styled=False):
        what = '%s %s' % (name, ' '.join(ascii(os.fsdecode(a))[1:-1][:40] for a in args))
        try:
            done = subprocess.run([self.verbatim, name] + args, capture_output=True, timeout=60,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            problems.append('%s: hangs' % what)
            return b''
        out = re.sub(STYLES, b'', done.stdout) if styled else done.stdout
        if name == 'emit':  # a C program is indented by its own tabs
            out = re.sub(b'(?m)^\t+| \*\t', b' ', out)
        if name == 'report':  # so are the parts of a page
            out = out.replace(b'\t', b' ')
        if form not in BINARY:
            check_bytes(what, 'stdout', out, form != 'csv')
        check_bytes(what, 'stderr', done.stderr, True)
        if done.returncode < 0:
            problems.append('%s: ended by signal %d' % (what, -done.returncode))
        if done.stdout and done.returncode in (0, 1):
            parse(what, form, done.stdout)
        self.said += done.stdout + done.stderr
        return done.stdout

    def each_format(self, name, args):
        for form in self.formats(name):
            self.run(name, (['--format', form] if form else []) + args, form)


def tables(path):
    db = sqlite3.connect(os.fsdecode(path))
    return sorted({table for table, column in columns(db)})


def run_sql(commands, trace):
    forms = commands.formats('sql')
    for table in tables(trace) + MADE:
        for form in forms:
            commands.run('sql', ['--format', form, trace, 'SELECT * FROM ' + table], form)
    head = b"SELECT 1 AS '" + EVIL.replace(b"'", b'') + b"'"
    for form in forms:
        commands.run('sql', ['--format', form, '--header', trace, head], form)
    commands.run('sql', [trace, EVIL])
    commands.run('sql', [trace, 'SELECT name(id) FROM object'])
    commands.run('sql', [trace, 'SELECT stack(id), symbol(ip) FROM stack JOIN frame ON stack = id'])
    commands.run('sql', ['--tables', trace])


def run_dump(commands, trace):
    commands.run('dump', ['--payload', 'full', trace])
    commands.run('dump', ['--failed', trace])
    commands.run('dump', ['--color', 'always', '-ky', trace], styled=True)
    for line in commands.run('dump', ['--format', 'json', '-k', trace]).splitlines():
        parse('dump --format json', 'json', line)
    for event in re.findall(rb'^ *[\d.]+  (\d+:\d+) ', commands.run('dump', [trace]), re.M)[::3]:
        commands.run('dump', [trace, event])


def over_trace(commands, trace):
    """What each command does with a trace; other commands than those here get it as an argument."""
    special = {
        'sql': run_sql, 'dump': run_dump,
        'unpack': lambda c, t: c.run('unpack', ['-o', b'plain' + EVIL + b'.db', t]),
        'facts': lambda c, t: c.run('facts', ['-o', b'sum' + EVIL + b'.db', t]),
        'replay': lambda c, t: (c.run('replay', ['--report', 'report.json', t]),
                                c.run('replay', [t])),
    }
    for name in commands.names:
        if name in special:
            special[name](commands, trace)
        else:
            commands.each_format(name, [trace])
    for report in ['report.json'] if os.path.exists('report.json') else []:
        data = open(report, 'rb').read()
        check_bytes('replay --report', report, data, True)
        parse('replay --report', 'json', data)


def over_names(commands):
    """Each command with names that are instructions: of files that are there or not, of options."""
    os.makedirs(EVIL.replace(b'/', b''), exist_ok=True)
    for name in commands.names + [EVIL, b'--' + EVIL]:
        for args in ([EVIL], [b'./' + EVIL], [EVIL, EVIL], [b'--' + EVIL],
                     [b'--format', EVIL, EVIL], [b'-o', EVIL, EVIL]):
            commands.run(name, args)


def main():
    if sys.argv[1] == 'alter':
        alter(*sys.argv[2:])
        return
    commands = Commands(sys.argv[2])
    if len(commands.names) < 10:
        problems.append('the commands are not listed by `verbatim help`')
    if len(sys.argv) > 4:
        over_trace(commands, os.fsencode(sys.argv[4]))
    else:
        over_names(commands)
    if sys.argv[3].encode() not in commands.said:
        problems.append('nobody said %s: the test shows nothing' % sys.argv[3])
    print('\n'.join(problems[:12]))
    sys.exit(bool(problems))


main()
