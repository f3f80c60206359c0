#!/usr/bin/env python3
"""Does the trace of a replay have what was recorded?

    same_verbs.py RECORDED REPLAYED [REPORT]

Both are unpacked traces: of a program, and of the replay of the program's trace. REPORT is what
`replay --format json` said. Each recorded thread must have its verbs in the replay, in its order,
on the objects that stand for its own, and with their results; and the replay no others. A thread
of the replay is named after the recorded one ("thread 3"); one thread alone plays all of them, each
in its own order.

What may differ:

    numbers, addresses, handles     the device gives them; which object is meant may not differ
    polls                           a replay polls until the completions have come, so these are
                                    compared: for each queue pair and side, in order (datagrams:
                                    of each sender), and none later than the thread's next verb
    completions behind the last     the recorded program did not poll them; a replay takes them
                                    from a CQ before it is destroyed
    which request of a SRQ it was   depends on timing
    events                          wherever they come; of a CQ as many less as REPORT tolerates
    calls of librdmacm              a replay has more; queue pairs are made by the verbs inside,
                                    addresses are as recorded, events wherever they come
    lists of devices                ours is held while it is used
    posts refused with ENOMEM       where another queue pair took less from a shared queue; they
                                    are posted again
    queries more than recorded      the engine asks for what it must translate
    destructions more than recorded what a process has left behind is destroyed at its end
    objects of the engine's own     its context, the first that is opened, and what is made there
"""
import collections
import errno
import json
import re
import sqlite3
import sys

RECV = 128
MERGED = 'a completion event for a completion that came before the queue was armed'
ELSEWHERE = {'ibv_get_device_list', 'ibv_free_device_list', 'ibv_ack_cq_events',
             'ibv_ack_async_event', 'ibv_get_cq_event', 'ibv_get_async_event'}
UNCHANGED = re.compile('ibv_(query|get|is|_ibv_query)_|ibv_init_ah_from_wc')
DESTROYS = re.compile('ibv_(destroy|dealloc|dereg|close|free|release)_')
# members of arguments and results that are device numbers, handles or addresses
NUMBERS = {'handle', 'lkey', 'rkey', 'qp_num', 'dest_qp_num', 'srq_num', 'wq_num', 'cmd_fd',
           'async_fd', 'fd', 'addr', 'iova', 'read_fd', 'fill_wr_id', 'num_devices', 'raw_clock',
           'index', 'cq_context', 'qp_context', 'srq_context', 'wq_context', 'refcnt', 'wr_id',
           'rq_psn', 'sq_psn', 'flow_label', 'sq_draining', 'remote_qpn', 'qp_handle'}
WR = ('opcode', 'send_flags', 'imm', 'num_sge', 'compare_add', 'swap', 'remote_qkey',
      'bind_length', 'bind_access', 'verb')
WC = ('status', 'opcode', 'byte_len', 'imm', 'wc_flags')


OUTSIDE_CM = """AND NOT EXISTS (SELECT 1 FROM call c WHERE c.thread = call.thread
    AND c.verb LIKE 'rdma_%' AND call.n BETWEEN c.n AND c.end_n)"""


class Differs(Exception):
    pass


def plain(value):
    """JSON without numbers that only one side knows."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key not in NUMBERS}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return 'pointer' if isinstance(value, int) and 1 << 32 < value < 1 << 47 else value


class Event:
    """A verb that was called: `what` came of it, `refs` {path: object}, `made` an object."""

    def __init__(self, row, time, verb, what, refs, made=None, wrs=()):
        self.thread, self.n, self.time = row['thread'], row['n'], time
        self.verb, self.what, self.refs, self.made, self.wrs = verb, what, refs, made, wrs

    def __str__(self):
        return f'{self.thread}:{self.n} {self.verb} {self.what}'


class Trace:
    def __init__(self, path, *own):
        self.db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
        self.db.row_factory = sqlite3.Row
        self.objects = {row['id']: row for row in self.all('SELECT * FROM object')}
        self.names = {row['id']: row['comm'] for row in self.all('SELECT * FROM thread')}
        self.wc, self.got, self.events = [], collections.Counter(), []
        self.receives = {(row['thread'], row['n']) for row in self.all(
            "SELECT thread, n FROM post WHERE verb LIKE '%recv'")}
        self.read_calls(*own)
        self.read_posts()
        self.read_rest()
        self.got.update((row['type'], row['object']) for row in self.all('SELECT * FROM event'))
        self.events.sort(key=lambda e: (e.time, e.thread, e.n))

    def all(self, sql):
        return self.db.execute(sql).fetchall()

    def read_calls(self, *own):
        """Verbs inside calls of librdmacm are the program's, but in a replay: there they are called
        beside these."""
        refs = collections.defaultdict(dict)
        for row in self.all('SELECT * FROM ref'):
            refs[row['thread'], row['n']][row['path']] = row['object']
        for row in self.all('SELECT * FROM call WHERE depth = 0 AND NOT ours AND end IS NOT NULL '
                            "AND verb NOT LIKE 'rdma_%' " + ' '.join(own)):
            used = refs[row['thread'], row['n']]
            made = self.objects.get(row['object'])
            made = made and (made['created_thread'], made['created_n']) == (
                row['thread'], row['n']) and made['id'] or None
            args = plain(json.loads(row['args'] or '{}'))
            out = plain(json.loads(row['out'] or '{}'))
            error = row['error'] if row['failed'] and row['ret'] in (0, -1) else 0
            ret = plain(row['ret'])
            if row['verb'] == 'ibv_get_cq_event' and not row['failed']:
                self.got['completion', used.get('out.cq')] += 1
            if row['verb'] not in ELSEWHERE:
                self.events.append(Event(row, row['begin'], row['verb'], (ret, error, args, out),
                                         used, made))

    def read_posts(self):
        wrs, lengths = collections.defaultdict(list), collections.defaultdict(list)
        for row in self.all('SELECT * FROM sge ORDER BY thread, n, i, j'):
            lengths[row['thread'], row['n'], row['i']].append(row['length'])
        for row in self.all('SELECT * FROM wr ORDER BY thread, n, i'):
            wrs[row['thread'], row['n']].append(
                (row['wr_id'], [row[name] for name in WR],
                 lengths[row['thread'], row['n'], row['i']]))
        for row in self.all('SELECT * FROM post WHERE NOT inner'):
            requests = wrs[row['thread'], row['n']]
            self.events.append(Event(
                row, row['time'], row['verb'],
                (row['ret'], row['bad'], [request[1:] for request in requests]),
                {'queue': row['object']}, wrs=[request[0] for request in requests]))

    def read_rest(self):
        for row in self.all('SELECT * FROM notify WHERE NOT inner'):
            self.events.append(Event(row, row['time'], 'ibv_req_notify_cq',
                                     (row['ret'], row['solicited_only']), {'cq': row['cq']}))
        self.wc = self.all('SELECT w.* FROM wc w JOIN poll p USING (thread, n) WHERE NOT p.inner '
                           'ORDER BY w.time, thread, n, i')


    def side(self, wc):
        """Only its request identifies a failed one."""
        if wc['status'] == 0:
            return 'recv' if wc['opcode'] & RECV else 'send'
        return 'recv' if (wc['wr_thread'], wc['wr_n']) in self.receives else 'send'


class Match:
    """The verbs of @again, one after another, each with the next of a recorded thread."""

    def __init__(self, there, again):
        self.there, self.again = there, again
        self.next, self.todo = collections.Counter(), collections.defaultdict(list)
        self.object = {}   # replayed to recorded
        self.request = {}  # replayed (thread, n, i) to (recorded one, is the wr_id the same)
        self.pairs = []
        for event in there.events:
            self.todo[event.thread].append(event)
        self.ours = None   # the engine's own context

    def threads(self, player):
        """Recorded threads that thread @player of the replay may play."""
        name = re.fullmatch('thread ([0-9]+)', self.again.names[player])
        return [int(name[1])] if name else self.there.names

    def players(self, event):
        """Recorded threads whose verb it may be, the one first whose turn it is by the time."""
        heads = [self.todo[t][self.next[t]] for t in self.threads(event.thread)
                 if self.next[t] < len(self.todo[t])]
        return sorted(heads, key=lambda head: head.time)

    def same_objects(self, head, event):
        for path, object in head.refs.items():
            if path.startswith('out.') or path == 'device':
                continue
            if object and self.object.get(event.refs.get(path)) != object:
                return False
        return True

    def is_same(self, head, event):
        return head.verb == event.verb and self.same_objects(head, event) and \
            head.what == event.what and (head.made is None) == (event.made is None)

    def is_own(self, event):
        """May the engine call it?"""
        used = [o for path, o in event.refs.items() if o and not path.startswith('out.')]
        if UNCHANGED.match(event.verb) or not any(o in self.object for o in used):
            return True
        if event.wrs and event.what[:2] == (errno.ENOMEM, 1):
            return True
        if not DESTROYS.match(event.verb):
            return False
        left = [self.object[o] for o in used if o in self.object]
        return all(self.there.objects[o]['destroyed_n'] is None for o in left)

    def take(self, event):
        if event.verb == 'ibv_open_device' and self.ours is None:
            self.ours = event.made
            return
        heads = self.players(event)
        # two threads may post equal requests to one queue except for their wr_ids; not all of these
        # stay the same
        for head in sorted(heads, key=lambda head: head.wrs != event.wrs):
            if self.is_same(head, event):
                self.next[head.thread] += 1
                self.put(head, event)
                return
        if not self.is_own(event):
            raise Differs(f'the replay has {event} where the next is ' +
                          (', '.join(map(str, heads[:3])) or 'none'))

    def put(self, head, event):
        if head.made:
            self.object[event.made] = head.made
        for path, object in head.refs.items():  # an extended queue pair, a window's region
            if path.startswith('out.') and object:
                self.object.setdefault(event.refs.get(path), object)
        for i, (wr_id, here) in enumerate(zip(head.wrs, event.wrs)):
            self.request[event.thread, event.n, i] = (head.thread, head.n, i), wr_id == here
        self.pairs.append((head, event))

    def run(self):
        for event in self.again.events:
            self.take(event)
        for thread, events in self.todo.items():
            if self.next[thread] < len(events):
                raise Differs(f'the replay lacks {events[self.next[thread]]}')


class Completions:
    """Those of both traces, by queue pair, side and sender."""

    def __init__(self, match):
        self.match = match
        self.there, self.again = collections.defaultdict(list), collections.defaultdict(list)
        self.shared = set()
        kinds = {row['id']: row for row in match.there.all(
            "SELECT c.object id, json_extract(args, '$.qp_init_attr.srq') srq, "
            "coalesce(json_extract(args, '$.qp_init_attr.qp_type'), "
            "json_extract(args, '$.qp_init_attr_ex.qp_type')) type, "
            "json_extract(args, '$.qp_init_attr_ex.srq') srq_ex FROM call c "
            "WHERE verb LIKE 'ibv_create_qp%' AND object IS NOT NULL")}
        self.datagrams = {q for q, row in kinds.items() if row['type'] == 'IBV_QPT_UD'}
        self.shared = {q for q, row in kinds.items() if row['srq'] or row['srq_ex'] or
                       str(row['type']).startswith('IBV_QPT_XRC')}
        self.lengthless = {row['object'] for row in match.there.all(
            "SELECT object FROM call WHERE verb = 'ibv_create_cq_ex' AND "
            "NOT json_extract(args, '$.init_attr.wc_flags') & 1")}
        numbers = {row['number']: row['id'] for row in match.again.objects.values()
                   if row['kind'] == 'qp'}
        recorded = {row['number']: row['id'] for row in match.there.objects.values()
                    if row['kind'] == 'qp'}
        for wc in match.there.wc:
            sender = recorded.get(wc['src_qp']) if wc['qp'] in self.datagrams else 0
            self.there[wc['qp'], match.there.side(wc), sender].append(wc)
        for wc in match.again.wc:
            if wc['qp'] not in match.object:
                continue  # of a synthesized peer
            queue = match.object[wc['qp']]
            sender = match.object.get(numbers.get(wc['src_qp'])) if queue in self.datagrams else 0
            self.again[queue, match.again.side(wc), sender].append(wc)

    def check_one(self, there, again):
        event = f'{there["thread"]}:{there["n"]} completion {there["i"]}'
        for name in WC if there['status'] == 0 else ('status',):
            if name == 'byte_len' and (not there['opcode'] & RECV or
                                       there['cq'] in self.lengthless):
                continue
            if there[name] != again[name]:
                raise Differs(f'{event}: {name} {there[name]}, replayed {again[name]}')
        if there['qp'] in self.shared and there['opcode'] & RECV or there['wr_n'] is None:
            return
        request, kept = self.match.request.get(
            (again['wr_thread'], again['wr_n'], again['wr_i']), (None, False))
        if there['qp'] not in self.datagrams and \
                request != (there['wr_thread'], there['wr_n'], there['wr_i']):
            raise Differs(f'{event}: of request {there["wr_thread"]}:{there["wr_n"]}, '
                          f'replayed of {request}')
        if kept and there['qp'] not in self.datagrams and there['wr_id'] != again['wr_id']:
            raise Differs(f'{event}: wr_id {there["wr_id"]}, replayed {again["wr_id"]}')

    def check_content(self):
        more = 0
        for key in self.there.keys() | self.again.keys():
            there, again = self.there[key], self.again[key]
            for a, b in zip(there, again):
                self.check_one(a, b)
            if len(there) > len(again):
                raise Differs(f'the replay lacks the completion of {there[len(again)]["thread"]}:'
                              f'{there[len(again)]["n"]}')
            more += len(again) - len(there)
        return more

    def check_order(self):
        """Before a verb that followed a completion, that has come. No earlier either, where a CQ
        has nothing else and no other thread polls. Of a SRQ another may take the last request."""
        queues, threads = collections.defaultdict(set), collections.defaultdict(set)
        for key, wcs in self.there.items():
            for wc in wcs:
                queues[wc['cq']].add(key)
                threads[wc['cq']].add(wc['thread'])
        for cq, keys in queues.items():
            if len(threads[cq]) == 1:
                for key in keys:
                    if key[0] not in self.shared:
                        self.check_turns(key, len(keys) == 1)

    def check_turns(self, key, alone):
        there = self.there[key]
        times = [wc['time'] for wc in self.again[key]]
        done = come = 0
        for head, event in self.match.pairs:
            if head.thread != there[0]['thread']:
                continue
            while done < len(there) and there[done]['n'] < head.n:
                done += 1
            while come < len(times) and times[come] <= event.time:
                come += 1
            if come < done or alone and come > done and done < len(there):
                raise Differs(f'{head}: after {done} completions of its queue pair, '
                              f'replayed after {come}')


def check_events(there, again, match, report):
    got = collections.Counter()
    for (what, object), count in again.got.items():
        got[what, match.object.get(object)] += count
    merged = sum(each['count'] for each in report.get('tolerated', []) if each['reason'] == MERGED)
    for (what, object), count in there.got.items():
        fewer = count - got[what, object]
        if fewer > 0 and what == 'completion':
            merged -= fewer
        if fewer > 0 and (what != 'completion' or merged < 0):
            raise Differs(f'{fewer} events of {there.objects[object]["name"]} are missing: {what}')


CM_CALLS = """SELECT thread, verb, ret, begin, end FROM call WHERE verb LIKE 'rdma_%' AND depth = 0
    AND end IS NOT NULL AND verb NOT IN ('rdma_create_qp', 'rdma_destroy_qp', 'rdma_ack_cm_event')
    AND verb NOT LIKE '%addrinfo' AND verb != 'rdma_get_cm_event'
    ORDER BY begin"""


def check_cm(there, again, match):
    """Those of a recorded thread are among those of the thread that plays it, in their order. A
    connect that began before its listener was there is made by the thread that plays rdma_listen().
    """
    rest = {}
    listened = max([each['end'] for each in there.all(CM_CALLS) if each['verb'] == 'rdma_listen'],
                   default=0)
    connects = [sum(each['verb'] == 'rdma_connect' for each in trace.all(CM_CALLS))
                for trace in (there, again)]
    if connects[0] > connects[1]:
        raise Differs(f'{connects[1]} calls of rdma_connect, not {connects[0]}')
    for row in there.all(CM_CALLS):
        if row['verb'] == 'rdma_connect' and row['begin'] < listened:
            continue
        if row['thread'] not in rest:
            players = [t for t in again.names if row['thread'] in match.threads(t)]
            rest[row['thread']] = iter([(each['verb'], plain(each['ret']))
                                        for each in again.all(CM_CALLS)
                                        if each['thread'] in players])
        if (row['verb'], plain(row['ret'])) not in rest[row['thread']]:
            raise Differs(f'thread {row["thread"]} of the replay lacks {row["verb"]}, or has it '
                          'elsewhere')


def main(recorded, replayed, report=None):
    there, again = Trace(recorded), Trace(replayed, OUTSIDE_CM)
    with open(report or '/dev/null') as file:
        report = json.loads(file.read() or '{}')
    match = Match(there, again)
    try:
        match.run()
        completions = Completions(match)
        more = completions.check_content()
        completions.check_order()
        check_events(there, again, match, report)
        check_cm(there, again, match)
    except Differs as differs:
        print(differs)
        return 1
    print(f'{len(match.pairs)} verbs and {len(there.wc)} completions of {len(match.todo)} threads; '
          f'{more} completions that the program did not poll')
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
