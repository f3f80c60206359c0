"""Reads back with Python's own csv and json what verbatim sql printed.

export_rows.py hostile VERBATIM TRACE   values that are hard to write down
export_rows.py tables VERBATIM TRACE    each table and view: both formats have the same rows
"""
import csv
import io
import json
import subprocess
import sys

# its name in SQL, and its JSON value; a blob is in hexadecimal
HOSTILE = [
    ("''", ''), ("'a,b'", 'a,b'), ("""'say "no"'""", 'say "no"'), ("'\"'", '"'), ("','", ','),
    ("'two' || char(10) || 'lines'", 'two\nlines'), ("char(10)", '\n'),
    ("'cr' || char(13, 10) || 'lf'", 'cr\r\nlf'), ("char(9) || ' x '", '\t x '),
    ("'\\x41 \\\\'", '\\x41 \\\\'), ("char(27) || '[2J'", '\x1b[2J'),
    ("char(0x202e, 0xe9, 0x1f600)", '\u202e\u00e9\U0001f600'),
    ("cast(x'61ff80' AS text)", 'a\u00ff\u0080'), ("'=1+1'", '=1+1'), ("'NULL'", 'NULL'),
    ("NULL", None), ("x'00ff41'", '00FF41'), ("x''", ''),
    ("9223372036854775807", 2**63 - 1), ("-9223372036854775807 - 1", -2**63),
    ("9007199254740993", 2**53 + 1), ("0", 0), ("1.5", 1.5), ("-2.5e300", -2.5e300),
    ("1e999", float('inf')),
]


def run(verbatim, trace, form, query):
    out = subprocess.run([verbatim, 'sql', '--format', form, '--header', trace, query], check=True,
                         capture_output=True).stdout.decode()
    if form == 'jsonl':
        return [json.loads(line) for line in out.split('\n')[:-1]]
    if form == 'json':
        return json.loads(out)
    return list(csv.reader(io.StringIO(out, newline=''), strict=True))


def unescape(text):
    """Undo what makes a text printable (core/base/printable.h)."""
    at, out = 0, ''
    while at < len(text):
        if text.startswith('\\x', at):
            out += chr(int(text[at + 2:at + 4], 16))
            at += 4
        elif text.startswith('\\u{', at):
            end = text.index('}', at)
            out += chr(int(text[at + 3:end], 16))
            at = end + 1
        else:
            out += text[at]
            at += 1
    return out


def as_csv(value):
    """A value of JSON as CSV has it."""
    if value is None:
        return ''
    if isinstance(value, float):
        return 'Inf' if value == float('inf') else value
    return str(value)


def same(what, got, wanted):
    if isinstance(wanted, float):
        got = float(got)
    if got != wanted:
        sys.exit('%s: %r instead of %r' % (what, got, wanted))


def compare_hostile(verbatim, trace):
    select = 'SELECT ' + ', '.join('%s AS "c%d,"' % (sql, i) for i, (sql, _) in enumerate(HOSTILE))
    select += ' UNION ALL ' + 'SELECT ' + ', '.join('NULL' for _ in HOSTILE)
    names = ['c%d,' % i for i in range(len(HOSTILE))]
    wanted = [dict(zip(names, (value for _, value in HOSTILE))), dict.fromkeys(names)]
    same('jsonl', run(verbatim, trace, 'jsonl', select), wanted)
    same('json', run(verbatim, trace, 'json', select), wanted)
    head, row, nulls = run(verbatim, trace, 'csv', select)
    same('names', head, names)
    same('nulls', nulls, [''] * len(names))
    for (sql, value), cell in zip(HOSTILE, row):
        same(sql, unescape(cell), as_csv(value))


def compare_alone(verbatim, trace):
    """A row of one column is a row, whatever it is."""
    select = 'SELECT NULL AS x UNION ALL SELECT 1 UNION ALL SELECT char(10)'
    same('alone', run(verbatim, trace, 'csv', select), [['x'], [''], ['1'], ['\n']])
    same('alone', run(verbatim, trace, 'jsonl', select), [{'x': None}, {'x': 1}, {'x': '\n'}])
    select = 'SELECT 1 AS x WHERE 0'
    same('none', [run(verbatim, trace, f, select) for f in ('csv', 'json', 'jsonl')],
         [[['x']], [], []])


def compare_tables(verbatim, trace):
    listed = run(verbatim, trace, 'jsonl', "SELECT name, type FROM sqlite_master"
                 " WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%'")
    names = [row['name'] for row in listed] + ['wr', 'wc', 'sge', 'poll', 'requests', 'qps']
    rows = 0
    for name in sorted(set(names)):
        select = 'SELECT * FROM "%s"' % name
        lines, table = (run(verbatim, trace, f, select) for f in ('jsonl', 'csv'))
        same(name, len(table) - 1, len(lines))
        for got, wanted in zip(table[1:], lines):
            same(name, table[0], list(wanted))
            for cell, value in zip(got, wanted.values()):
                same(name, unescape(cell), as_csv(value))
        rows += len(lines)
    if len(names) < 30 or rows < 500:
        sys.exit('%d tables, %d rows' % (len(names), rows))


if sys.argv[1] == 'hostile':
    compare_hostile(*sys.argv[2:])
    compare_alone(*sys.argv[2:])
else:
    compare_tables(*sys.argv[2:])
