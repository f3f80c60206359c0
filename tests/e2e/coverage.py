"""Compare what every_verb said of its calls with what the trace has of them.

usage: coverage.py names.txt verbs.list SAID PLAIN.db

Prints a line for each verb of the list that is not seen, or not seen as it was
called; then the table of docs/COVERAGE.md, between two lines of its own.
"""
import collections
import json
import re
import sqlite3
import sys

# which the software device does not have; that test has its own provider
ELSEWHERE = {
    'ibv_wc_read_cvlan': 'tests/shim/trace/verbs/poll_ex_test.c',
    'ibv_wc_read_tm_info': 'tests/shim/trace/verbs/poll_ex_test.c',
}
# no object of the software device has it, so it cannot be called there
NOT_THERE = {
    'ibv_wr_send_tso': 'no segmentation',
    'ibv_modify_flow_action_esp': 'makes no flow action',
    'ibv_destroy_flow_action': 'makes no flow action',
}
PATHS = {'sym': 'exported', 'cm': 'librdmacm', 'dv': 'provider', 'ops': 'ibv_context.ops',
         'vctx': 'verbs_context', 'qpx': 'ibv_qp_ex', 'cqx': 'ibv_cq_ex', 'wq': 'ibv_wq',
         'dm': 'ibv_dm'}


def rows(db, query, *args):
    return [dict(r) for r in db.execute(query, args)]


class Trace:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.row_factory = sqlite3.Row
        self.events = collections.defaultdict(list)
        for r in rows(self.db,
                      'SELECT * FROM call WHERE depth = 0 AND NOT ours ORDER BY thread, n'):
            self.events[r['verb']].append(r)
        for r in rows(self.db, 'SELECT * FROM post WHERE NOT inner ORDER BY thread, n'):
            self.events[r['verb']].append(r)
        for r in rows(self.db, 'SELECT * FROM poll WHERE NOT inner ORDER BY thread, n'):
            self.events[r['verb']].append(r)
        for r in rows(self.db, 'SELECT * FROM notify WHERE NOT inner ORDER BY thread, n'):
            self.events['ibv_req_notify_cq'].append(r)

    def table(self, name, event, i):
        more = ' AND j = 0' if name == 'sge' else ''
        query = 'SELECT * FROM %s WHERE thread = ? AND n = ? AND i = ?%s' % (name, more)
        found = rows(self.db, query, event['thread'], event['n'], i)
        return found[0] if found else {}

    def value(self, source, k, i, field):
        if k > len(self.events[source]):
            return 'no event'
        event = self.events[source][k - 1]
        table, _, name = field.partition('.')
        if field == '-':
            return '0'
        if field == 'ret' or table in ('post', 'notify'):
            return event.get(name or field)
        if table in ('args', 'out'):
            return member(event[table], name)
        return self.table(table, event, i).get(name)


def member(text, path):
    value = json.loads(text) if text else {}
    for key in re.findall(r'[^.\[\]]+', path):
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def listed(path):
    """Verb by verb: how it is reached, and its plane."""
    found = {}
    for line in open(path):
        words = line.split()
        if len(words) > 5 and words[0] in PATHS:
            later = words[1] if 'later' in line.partition(' ; ')[2].split() else None
            found[len(found)] = (PATHS[words[0]], words[2], later)
    return list(found.values())


def main():
    names, verbs, said, plain = sys.argv[1:]
    order = [l.split()[0] for l in open(names) if not l.endswith(' skip\n')]
    trace, seen, wrong = Trace(plain), collections.Counter(), 0
    for line in open(said):
        verb, source, k, i, field, value = line.split()
        found = trace.value(source, int(k), int(i), field)
        seen[verb] += field != '-'
        if str(found) != value:
            wrong += 1
            print('%s: %s is %s in the trace, %s when it was called (%s %s)' % (
                verb, field, found, value, source, k))
    reasons = dict(ELSEWHERE, **NOT_THERE)
    rows_of = listed(verbs)
    reasons.update((v, 'later') for v, row in zip(order, rows_of) if row[2])
    for verb in order:
        if verb not in seen and verb not in reasons and not verb.startswith('rdma_'):
            wrong += 1
            print('%s: not called by every_verb' % verb)
    for verb in sorted(reasons):
        if verb in seen:
            wrong += 1
            print('%s: seen, though it is said not to be' % verb)
    print('== table')
    print('| verb | path | plane | values compared |\n|---|---|---|---|')
    for verb, (path, plane, later) in zip(order, rows_of):
        note = verb in ELSEWHERE and 'by ' + ELSEWHERE[verb]
        version = later and (later if '_' in later else 'IBVERBS_' + later)
        note = note or later and ('by tests/shim/trace/verbs/qp_ex_test.c' if later == '-' else
                                  'by tests/e2e/later.sh: of ' + version)
        note = note or verb.startswith('rdma_') and 'by tests/e2e/cm.sh'
        note = note or NOT_THERE.get(verb) and 'not on the software device: ' + NOT_THERE[verb]
        note = note or seen[verb] or 'that it was called'
        print('| %s | %s | %s | %s |' % (verb, path, plane, note))
    return wrong != 0


sys.exit(main())
