"""Answers the questions of verbatim-sql(1), which TRACE-FORMAT.md has, too, from the raw rows of an
unpacked trace, and compares.

sql.py VERBATIM DOCS TRACE PLAIN [ANSWERED...]
    every question; those of ANSWERED must have an answer that is not empty
"""
import collections
import json
import re
import sqlite3
import subprocess
import sys

INLINE, SIGNALED = 8, 2
Row = sqlite3.Row


def read_questions(path):
    """The statements of the page by the words before each."""
    text = open(path).read().split('.\\" questions')[1].split('.\\" end of the questions')[0]
    questions, name, select = {}, None, None
    for line in text.split('\n')[1:]:
        if line.startswith('.Dl '):
            questions[name] = line[4:]
            name = None
        elif line.startswith('.Bd'):
            select = []
        elif line.startswith('.Ed'):
            questions[name] = ' '.join(select)
            name = select = None
        elif select is not None:
            select.append(line.strip())
        elif name is None and line and not line.startswith('.'):
            name = re.split('[:,]', line)[0]
    return questions


class Plain:
    """What the rows of the unpacked trace say, without SQL that counts."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.row_factory = Row
        self.name = {o['id']: o['name'] for o in self.rows('object')}
        self.first_qp = next(i for i, name in self.name.items() if name == 'qp1')
        self.posts = {(p['thread'], p['n']): p for p in self.rows('post')}
        self.wrs = [w for w in self.rows('wr') if not self.post_of(w)['inner']]
        self.wcs = self.rows('wc')
        self.calls = self.rows('call')
        self.done = {(c['wr_thread'], c['wr_n'], c['wr_i']): c for c in self.wcs}

    def rows(self, table):
        return self.db.execute('SELECT * FROM ' + table).fetchall()

    def post_of(self, wr):
        return self.posts[wr['thread'], wr['n']]

    def queue_of(self, wr):
        return wr['qp'] or wr['srq']

    def own(self, wr):
        return self.done.get((wr['thread'], wr['n'], wr['i']))

    def is_send(self, wr):
        return wr['opcode'] is not None

    def sends(self):
        return [w for w in self.wrs if self.is_send(w)]

    def creation(self, object):
        return self.db.execute("SELECT c.* FROM call c JOIN object o ON c.thread ="
                               " o.created_thread AND c.n = o.created_n WHERE o.id = ?",
                               (object,)).fetchone()

    def signals_all(self, qp):
        args = json.loads(self.creation(qp)['args'])
        return (args.get('qp_init_attr') or args.get('qp_init_attr_ex'))['sq_sig_all']

    def is_signaled(self, wr):
        return bool(wr['send_flags'] & SIGNALED) or bool(self.signals_all(wr['qp']))


def percentile(values, p):
    values = sorted(values)
    at = p / 100 * (len(values) - 1)
    low = int(at)
    if low + 1 == len(values):
        return float(values[low])
    return values[low] + (at - low) * (values[low + 1] - values[low])


def statuses(t):
    counts = collections.Counter((c['qp'], c['status'], c['status_name']) for c in t.wcs)
    return [(t.name.get(qp), text, n) for (qp, _, text), n in counts.items()]


def while_posting(t):
    spans = {}
    for post in t.posts.values():
        low, high = spans.get(post['thread'], (post['time'], post['time']))
        spans[post['thread']] = min(low, post['time']), max(high, post['time'])
    found = collections.defaultdict(list)
    for call in t.calls:
        low, high = spans.get(call['thread'], (1, 0))
        if not call['depth'] and low <= call['begin'] <= high:
            found[call['verb']].append(call['end'] - call['begin'])
    return [(verb, len(spans), sum(spans)) for verb, spans in found.items()]


def percentiles(t):
    found = collections.defaultdict(list)
    for wr in t.sends():
        wc = t.own(wr)
        if wc and not wc['status']:
            found[wr['opcode_name'], wr['bytes']].append(wc['time'] - wr['time'])
    return [(*key, len(v), percentile(v, 50), percentile(v, 99)) for key, v in found.items()]


def peers(t):
    """Those that name each other in ibv_modify_qp(); enough where no number is given twice."""
    number, to = {}, {}
    for o in t.rows('object'):
        if o['kind'] == 'qp':
            number[o['id']] = o['number'], o['process'], o['name']
    for call in t.calls:
        attr = json.loads(call['args'] or '{}').get('attr') or {}
        if call['verb'] == 'ibv_modify_qp' and 'dest_qp_num' in attr and not call['failed']:
            to[call['object']] = attr['dest_qp_num']
    pairs = [(a, b) for a in to for b in to
             if number[b][0] == to[a] and number[a][0] == to[b]]
    return [(number[a][1], number[a][2], number[b][1], number[b][2]) for a, b in pairs]


def depths(t):
    """A post adds what was accepted; a completion takes its request and those before it."""
    qp = t.first_qp
    events = [(p['time'], 0, p['thread'], p['n']) for p in t.posts.values()
              if p['object'] == qp and p['verb'] in ('ibv_post_send', 'ibv_wr_complete')]
    events += [(p['time'], 1, p['thread'], p['n']) for p in t.rows('poll')]
    events += [(c['end'], 2, c['thread'], c['n']) for c in t.calls
               if c['verb'] == 'ibv_modify_qp' and c['object'] == qp and not c['failed'] and
               json.loads(c['args'])['attr'].get('qp_state') == 'IBV_QPS_RESET']
    gone = t.db.execute('SELECT destroyed_at FROM object WHERE id = ?', (qp,)).fetchone()[0]
    wrs, wcs = collections.defaultdict(list), collections.defaultdict(list)
    for wr in t.wrs:
        wrs[wr['thread'], wr['n']].append(wr)
    for wc in t.wcs:
        wcs[wc['thread'], wc['n']].append(wc)
    queue, told = [], []
    for time, kind, *event in sorted(events):
        before = len(queue)
        if kind == 0:
            queue += [(*event, w['i']) for w in wrs[tuple(event)] if not w['bad']]
        elif kind == 2:
            queue = []
        for wc in wcs[tuple(event)] if kind == 1 else []:
            request = wc['wr_thread'], wc['wr_n'], wc['wr_i']
            if request in queue:
                queue = queue[queue.index(request) + 1:]
        if len(queue) != before:
            told.append((time, len(queue)))
    if queue and gone:
        told.append((t.db.execute(
            "SELECT end FROM call JOIN object ON thread = destroyed_thread AND"
            " call.n = destroyed_n WHERE id = ?", (qp,)).fetchone()[0], 0))
    return told


def registered(t):
    """Without ibv_rereg_mr(), whose traces are not asked."""
    changes = collections.Counter()
    for o in t.rows('object'):
        if o['kind'] != 'mr':
            continue
        length = json.loads(t.creation(o['id'])['out'])['ret']['length']
        changes[o['created_at']] += length
        if o['destroyed_at'] is not None:
            changes[o['destroyed_at']] -= length
    total, told = 0, []
    for time in sorted(changes):
        total += changes[time]
        told.append((time, total))
    return told


def slow(t):
    ended = [c for c in t.calls if c['end'] is not None]
    ended.sort(key=lambda c: c['begin'] - c['end'])
    return [('%d:%d' % (c['thread'], c['n']), c['verb'], t.name.get(c['object']),
             c['end'] - c['begin']) for c in ended[:10]]


def shares(t):
    sends = t.sends()
    return [(sum(bool(w['send_flags'] & INLINE) for w in sends) / len(sends),
             sum(t.is_signaled(w) for w in sends) / len(sends))] if sends else [(None, None)]


def rates(t):
    seconds = collections.defaultdict(list)
    for wr in t.wrs:
        if not wr['bad']:
            seconds[wr['time'] // 1000000000].append(wr['bytes'])
    return [(s, len(v), sum(v)) for s, v in seconds.items()]


def key_at(t, key, time):
    return [(o['process'], o['name'], t.name[o['parent']]) for o in t.rows('object')
            if o['kind'] == 'mr' and o['number'] == key and o['created_at'] <= time and
            (o['destroyed_at'] is None or time <= o['destroyed_at'])]


def never(t):
    """No completion of their own, nor, of a send, of a later one: by queue, in order of posts."""
    later, told = {}, []
    order = sorted((w for w in t.wrs if not w['bad']),
                   key=lambda w: (w['time'], w['thread'], w['n'], w['i']), reverse=True)
    for wr in order:
        side = t.queue_of(wr), t.is_send(wr)
        if t.own(wr):
            later[side] = True
        elif not (t.is_send(wr) and not t.is_signaled(wr) and later.get(side)):
            told.append(('%d:%d' % (wr['thread'], wr['n']), t.name[t.queue_of(wr)],
                         wr['opcode_name']))
    return told


def function_names(verbatim, trace, event):
    """As dump has them below the event."""
    lines = subprocess.run([verbatim, 'dump', trace, event], check=True, capture_output=True,
                           text=True).stdout.split('\n')
    return [m.group(1) for m in (re.match(r'  #\d+ +([^+ ]+)', li) for li in lines)
            if m]


def ask(verbatim, trace, select):
    out = subprocess.run([verbatim, 'sql', '--json', trace, select], check=True,
                         capture_output=True, text=True).stdout
    return [tuple(row.values()) for row in json.loads(out)]


def compare(name, got, wanted, answered):
    order = lambda rows: sorted(rows, key=repr)
    got = [tuple(round(v, 6) if isinstance(v, float) else v for v in row) for row in got]
    wanted = [tuple(round(v, 6) if isinstance(v, float) else v for v in row) for row in wanted]
    if order(got) != order(wanted):
        sys.exit('%s: got\n%s\nand not\n%s' % (name, order(got)[:20], order(wanted)[:20]))
    if not got and name in answered:
        sys.exit('%s: nothing to compare' % name)


def main():
    verbatim, docs, trace, plain = sys.argv[1:5]
    answered = sys.argv[5:]
    man = docs + '/man/verbatim-sql.1'
    page = ' '.join(open(docs + '/TRACE-FORMAT.md').read().split())
    questions, t = read_questions(man), Plain(plain)
    answers = {
        'Statuses by queue pair': statuses, 'Control verbs while posting': while_posting,
        'Percentiles by opcode and size': percentiles, 'The peer of each queue pair': peers,
        'Outstanding depth over time': depths, 'Bytes registered over time': registered,
        'Slow control verbs': slow, 'Share inline': shares, 'Rate over time': rates,
    }
    if len(questions) != 12:
        sys.exit('%d questions: %s' % (len(questions), list(questions)))
    for select in questions.values():
        if select not in page:
            sys.exit('%s does not have: %s' % (docs, select))
    for name, answer in answers.items():
        got = ask(verbatim, trace, questions.pop(name).replace("'qp1'", str(t.first_qp)))
        wanted = answer(t)
        if name == 'Slow control verbs': # the order of equal rows is unspecified
            got, wanted = [r[3:] for r in got], [r[3:] for r in wanted]
        compare(name, got, wanted, answered)
    mr = next(o for o in t.rows('object') if o['kind'] == 'mr')
    select = questions.pop('Region and PD of a key').replace('0x2 ', '%d ' % mr['number'])
    select = select.replace('90000000', str(mr['created_at']))
    compare('Region and PD of a key', ask(verbatim, trace, select),
            key_at(t, mr['number'], mr['created_at']), ['Region and PD of a key'])
    event = next('%d:%d' % (c['thread'], c['n']) for c in t.calls
                 if c['verb'] == 'ibv_create_qp')
    [[text]] = ask(verbatim, trace,
                   questions.pop('Functions in the stack of an event').replace('1:39', event))
    names = [re.split('[+ ]', f)[0] for f in text.split(' < ')]
    shown = function_names(verbatim, trace, event)
    if not shown or names != shown:
        sys.exit('functions of %s: %s and not %s' % (event, names, shown))
    got = [row[:3] for row in ask(verbatim, trace, questions.pop('Requests that never completed'))]
    compare('Requests that never completed', got, never(t), answered)


main()
