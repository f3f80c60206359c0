"""Compare rows, as JSON lines on the standard input, with those of SQL.

compare.py VERBATIM TABLE TRACE...: each row must have the columns of the table, and trace, job,
node and rank; and the rows must be those of all traces.
"""
import collections
import json
import os
import subprocess
import sys

verbatim, table, *traces = sys.argv[1:]


def ask(trace, query):
    return json.loads(subprocess.run([verbatim, 'sql', '--json', trace, query], check=True,
                                     stdout=subprocess.PIPE).stdout)


def expect(trace):
    owners = {p['process']: p for p in ask(trace, 'SELECT * FROM processes')}
    none = dict(owners.get(1, {}), rank=None)
    for row in ask(trace, 'SELECT * FROM ' + table):
        owner = owners.get(row.get('process'), none)
        row.update({key: owner.get(key) for key in ('job', 'node', 'rank')})
        row['trace'] = os.path.basename(trace)
        yield row


def count(rows):
    return collections.Counter(json.dumps(row, sort_keys=True) for row in rows)


wanted = count(row for trace in traces for row in expect(trace))
got = count(json.loads(line) for line in sys.stdin)
if got != wanted:
    for name, rows in (('missing', wanted - got), ('not expected', got - wanted)):
        print(f'{table}: {sum(rows.values())} rows are {name}')
        for row in list(rows)[:2]:
            print(' ', row)
    sys.exit(1)
print(sum(wanted.values()))
