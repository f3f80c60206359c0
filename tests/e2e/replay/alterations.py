"""What alter.py does to a trace: one function for each kind of alteration."""
import json
import re

SIGNALED, WITH_IMM, INLINE = 2, 2, 8
RECV, READ = 128, 2
REMOTE_WRITE = 2
SUCCEEDED = ('EXISTS (SELECT 1 FROM wc WHERE wr_thread = r.thread AND wr_n = r.n AND wr_i = r.i '
             'AND status = 0)')
PLAIN = 'c.depth = 0 AND NOT c.ours AND c.end > 0 AND NOT c.failed'
CREATIONS = ('ibv_alloc_pd', 'ibv_reg_mr', 'ibv_create_cq', 'ibv_create_qp', 'ibv_create_ah',
             'ibv_create_srq')
INT_VERBS = ('ibv_modify_qp', 'ibv_query_qp', 'ibv_dereg_mr', 'ibv_destroy_qp', 'ibv_destroy_cq',
             'ibv_dealloc_pd', 'ibv_destroy_srq', 'ibv_query_srq', 'ibv_destroy_ah')
OUTPUTS = [('ibv_create_cq', 'ret.cqe'), ('ibv_reg_mr', 'ret.length'),
           ('ibv_create_qp', 'qp_init_attr.cap.max_send_wr'),
           ('ibv_create_qp', 'qp_init_attr.cap.max_recv_wr'),
           ('ibv_query_qp', 'init_attr.cap.max_send_wr'), ('ibv_query_srq', 'srq_attr.max_wr'),
           ('ibv_create_srq', 'srq_init_attr.attr.max_wr')]
INPUTS = [('ibv_create_cq', 'cqe'), ('ibv_reg_mr', 'length'),
          ('ibv_create_qp', 'qp_init_attr.cap.max_send_wr')]

KINDS = {}  # name: (does it change a promise, function)


def kind(name, promise=True):
    """The decorated function alters @db by @rng and returns its events, (thread, n), or None where
    the trace has nothing to alter so; `after` is for what is missing: any event from there on."""
    def put(function):
        KINDS[name] = promise, function
        return function
    return put


def pick(db, rng, sql, *args):
    rows = db.execute(sql, args).fetchall()
    return rng.choice(rows) if rows else None


def pick_wc(db, rng, where):
    """A completion whose request is known, of a poll that the program made."""
    return pick(db, rng, 'SELECT w.* FROM wc w JOIN poll p USING (thread, n) '
                'WHERE NOT p.inner AND w.wr_n IS NOT NULL AND w.qp IS NOT NULL AND ' + where)


def pick_post(db, rng, where):
    return pick(db, rng, 'SELECT r.* FROM wr r JOIN post p USING (thread, n) '
                "WHERE NOT p.inner AND p.ret = 0 AND p.verb NOT LIKE '%wr_abort' AND " + where)


def pick_call(db, rng, where, *args):
    return pick(db, rng, f'SELECT c.* FROM call c WHERE {where}', *args)


def set_row(db, table, row, **values):
    keys = [key for key in ('thread', 'n', 'i') if key in row.keys() and (key != 'i' or
            table in ('wc', 'wr', 'payload'))]
    sets = ', '.join(f'{name} = ?' for name in values)
    db.execute(f'UPDATE {table} SET {sets} WHERE ' + ' AND '.join(f'{key} = ?' for key in keys),
               (*values.values(), *(row[key] for key in keys)))


def at(row):
    return {(row['thread'], row['n'])}


def completions_of(db, row):
    """The polls in which request @row was completed."""
    return {tuple(each) for each in db.execute(
        'SELECT thread, n FROM wc WHERE wr_thread = ? AND wr_n = ? AND wr_i = ?',
        (row['thread'], row['n'], row['i']))}


def receptions_of(db, row):
    """The polls in which a datagram of the queue pair of @row came: they do not name its post."""
    return {tuple(each) for each in db.execute(
        'SELECT w.thread, w.n FROM wc w JOIN object o ON o.number = w.src_qp WHERE o.id = ? AND '
        'w.time > ?', (row['qp'], row['time']))}


@kind('status')
def alter_status(db, rng):
    row = pick_wc(db, rng, 'status = 0')
    if row:
        set_row(db, 'wc', row, status=rng.choice([1, 4, 9, 10, 12, 13]), vendor_err=129)
        return at(row)


@kind('length')
def alter_length(db, rng):
    row = pick_wc(db, rng, f'status = 0 AND byte_len > 0 AND opcode IN ({RECV}, {READ})')
    if row:
        set_row(db, 'wc', row, byte_len=row['byte_len'] + rng.choice([-1, 1, 64]))
        return at(row)


@kind('opcode')
def alter_opcode(db, rng):
    row = pick_wc(db, rng, f'status = 0 AND opcode IN (0, 1, {READ}, {RECV})')
    if row:
        set_row(db, 'wc', row, opcode={0: 1, 1: 0, READ: 0, RECV: 129}[row['opcode']])
        return at(row)


@kind('immediate')
def alter_immediate(db, rng):
    row = pick_wc(db, rng, f'status = 0 AND opcode & {RECV} AND wc_flags & {WITH_IMM}')
    if row:
        set_row(db, 'wc', row, imm=row['imm'] ^ 1 << rng.randrange(32))
        return at(row)


@kind('flag of immediate data')
def alter_flag(db, rng):
    row = pick_wc(db, rng, f'status = 0 AND opcode = {RECV}')
    if row:
        set_row(db, 'wc', row, wc_flags=row['wc_flags'] ^ WITH_IMM)
        return at(row)


@kind('immediate that was sent')
def alter_sent_immediate(db, rng):
    row = pick_post(db, rng, 'opcode IN (1, 3)')
    if row:
        set_row(db, 'wr', row, imm=row['imm'] ^ 1 << rng.randrange(32))
        return at(row) | receptions_of(db, row)


@kind('wr_id of a completion')
def alter_wr_id(db, rng):
    row = pick_wc(db, rng, 'status = 0')
    if row:
        set_row(db, 'wc', row, wr_id=row['wr_id'] + 77777)
        return at(row)


@kind('wr_id of a request')
def alter_posted_wr_id(db, rng):
    # a shared receive queue gives out any of its requests, and equal wr_ids do not tell which
    row = pick_post(db, rng, SUCCEEDED + ' AND NOT EXISTS (SELECT 1 FROM wr o WHERE o.srq = r.srq '
                    'AND o.wr_id = r.wr_id AND (o.thread, o.n, o.i) <> (r.thread, r.n, r.i))')
    if row:
        set_row(db, 'wr', row, wr_id=row['wr_id'] + 77777)
        return at(row) | completions_of(db, row)


@kind('result of a post')
def alter_post_result(db, rng):
    row = pick(db, rng, 'SELECT * FROM post WHERE ret = 0 AND NOT inner AND nwr > 0 '
               "AND verb NOT LIKE '%wr_abort'")
    if row:
        set_row(db, 'post', row, ret=rng.choice([12, 22]), bad=1)
        return at(row)


@kind('result of a call')
def alter_result(db, rng):
    row = pick_call(db, rng, f'{PLAIN} AND ret = 0 AND verb IN {INT_VERBS}')
    if row:
        set_row(db, 'call', row, ret=rng.choice([5, 16, 22]), failed=1)
        return at(row)


@kind('errno')
def alter_errno(db, rng):
    row = pick_call(db, rng, 'c.depth = 0 AND NOT c.ours AND c.failed AND c.end > 0 AND '
                    "(c.ret > 0 OR c.error > 0) AND c.verb NOT LIKE '%event%' AND "
                    "c.verb NOT LIKE '%flow%' AND c.verb NOT LIKE '%import%' AND "
                    "c.verb NOT LIKE '%dmabuf%'")
    if row:
        column = 'ret' if row['ret'] > 0 else 'error'
        set_row(db, 'call', row, **{column: row[column] + rng.choice([1, 2, 5])})
        return at(row)


def change_json(text, path, change):
    tree = json.loads(text)
    *names, last = path.split('.')
    inner = tree
    for name in names:
        inner = inner[name]
    inner[last] = change(inner[last])
    return json.dumps(tree, separators=(',', ':'))


def alter_member(db, rng, column, members):
    verb, path = rng.choice(members)
    row = pick_call(db, rng, f"{PLAIN} AND verb = ? AND json_extract({column}, '$.' || ?) > 0",
                    verb, path)
    if row:
        set_row(db, 'call', row, **{column: change_json(row[column], path, lambda v: v * 2 + 3)})
        return at(row)


@kind('attribute that a call gave')
def alter_output(db, rng):
    return alter_member(db, rng, 'out', OUTPUTS)


@kind('attribute that a call took')
def alter_input(db, rng):
    return alter_member(db, rng, 'args', INPUTS)


@kind('state that a queue pair went to')
def alter_state(db, rng):
    row = pick_call(db, rng, f"{PLAIN} AND verb = 'ibv_modify_qp' AND "
                    "json_extract(args, '$.attr.qp_state') IN ('IBV_QPS_INIT', 'IBV_QPS_RTR')")
    if row:
        set_row(db, 'call', row, args=change_json(row['args'], 'attr.qp_state',
                                                  lambda _: 'IBV_QPS_SQD'))
        return at(row)


@kind('state that was told')
def alter_told_state(db, rng):
    row = pick_call(db, rng, f"{PLAIN} AND verb = 'ibv_query_qp' AND "
                    "json_extract(out, '$.attr.qp_state') IS NOT NULL")
    if row:
        set_row(db, 'call', row, out=change_json(row['out'], 'attr.qp_state',
                                                 lambda _: 'IBV_QPS_SQE'))
        return at(row)


def after(db, table, row, time='time'):
    """Whatever comes from @row on: (thread, n) of all calls, posts and polls."""
    start = row[time]
    return {tuple(each) for each in db.execute(
        'SELECT thread, n FROM post WHERE time >= ?1 UNION SELECT thread, n FROM poll WHERE '
        'time >= ?1 UNION SELECT thread, n FROM call WHERE end >= ?1 UNION '
        'SELECT thread, n FROM notify WHERE time >= ?1', (start,))}


@kind('missing creation')
def drop_creation(db, rng):
    row = pick_call(db, rng, f'{PLAIN} AND verb IN {CREATIONS} AND EXISTS (SELECT 1 FROM ref '
                    'WHERE ref.object = c.object AND (ref.thread, ref.n) <> (c.thread, c.n))')
    if row:
        places = after(db, 'call', row, 'begin')
        db.execute('DELETE FROM call WHERE thread = ? AND n = ?', (row['thread'], row['n']))
        return places


@kind('access of a region')
def drop_access(db, rng):
    row = pick_call(db, rng, f"{PLAIN} AND verb = 'ibv_reg_mr' AND EXISTS (SELECT 1 FROM object o "
                    'JOIN sge s ON s.lkey = o.number JOIN wr r USING (thread, n, i) JOIN wc w '
                    'ON w.wr_thread = r.thread AND w.wr_n = r.n AND w.wr_i = r.i '
                    'WHERE o.id = c.object AND r.opcode IS NULL AND w.status = 0 AND '
                    'w.byte_len > 0)')
    if row:
        set_row(db, 'call', row, args=change_json(row['args'], 'access', lambda _: 0))
        return after(db, 'call', row, 'begin')


# of a queue pair that no other end writes to or reads from: nothing shows it
@kind('access of a queue pair without use', promise=False)
def alter_unused_access(db, rng):
    row = pick_call(db, rng, f"{PLAIN} AND verb = 'ibv_modify_qp' AND json_extract(args, "
                    "'$.attr.qp_access_flags') IS NOT NULL AND NOT EXISTS (SELECT 1 FROM wr WHERE "
                    'opcode IN (0, 1, 4, 5, 6)) AND NOT EXISTS (SELECT 1 FROM call q WHERE '
                    "q.verb = 'ibv_query_qp' AND q.object = c.object AND q.begin > c.begin)")
    if row:
        set_row(db, 'call', row, args=change_json(row['args'], 'attr.qp_access_flags',
                                                  lambda flags: flags ^ REMOTE_WRITE))
        return at(row)


@kind('missing change of state')
def drop_modify(db, rng):
    row = pick_call(db, rng, f"{PLAIN} AND verb = 'ibv_modify_qp' AND "
                    "json_extract(args, '$.attr.qp_state') IN ('IBV_QPS_INIT', 'IBV_QPS_RTR', "
                    "'IBV_QPS_RTS')")
    if row:
        places = after(db, 'call', row, 'begin')
        db.execute('DELETE FROM call WHERE thread = ? AND n = ?', (row['thread'], row['n']))
        return places


@kind('missing completion')
def drop_completion(db, rng):
    row = pick_wc(db, rng, "status = 0 AND p.verb LIKE '%poll_cq' AND p.nwc = 1")
    if row:
        places = after(db, 'wc', row) | {tuple(db.execute(
            'SELECT thread, n FROM wc WHERE qp = ? AND time < ? ORDER BY time DESC LIMIT 1',
            (row['qp'], row['time'])).fetchone() or (0, 0))}
        for table in ('wc', 'poll'):
            db.execute(f'DELETE FROM {table} WHERE thread = ? AND n = ?', (row['thread'], row['n']))
        return places


@kind('missing post')
def drop_post(db, rng):
    row = pick_post(db, rng, f'p.nwr = 1 AND opcode IS NOT NULL AND {SUCCEEDED}')
    if row:
        places = after(db, 'wr', row)
        for table in ('post', 'wr', 'sge'):
            db.execute(f'DELETE FROM {table} WHERE thread = ? AND n = ?', (row['thread'], row['n']))
        return places


# how many kinds of receives a thread posted; it posted many more than messages took
ALIKE = ("(SELECT count(DISTINCT o.wr_id || ' ' || coalesce(o.qp, o.srq) || ' ' || s.lkey || "
         "' ' || s.length) FROM wr o JOIN sge s USING (thread, n, i) WHERE o.thread = r.thread "
         'AND o.opcode IS NULL)')
SPARE = ('(SELECT count(*) FROM wr o WHERE o.thread = r.thread AND o.opcode IS NULL) > 100 + '
         '(SELECT count(*) FROM wc WHERE wc.thread = r.thread AND wc.opcode & 128)')


def drop_receive(db, rng, where):
    """A receive that a message took."""
    row = pick_post(db, rng, f'p.nwr = 1 AND opcode IS NULL AND {SUCCEEDED} AND {where}')
    if row:
        places = after(db, 'wr', row)
        for table in ('post', 'wr', 'sge'):
            db.execute(f'DELETE FROM {table} WHERE thread = ? AND n = ?', (row['thread'], row['n']))
        return places


@kind('missing receive')
def drop_own_receive(db, rng):
    return drop_receive(db, rng, '(SELECT count(DISTINCT o.wr_id) FROM wr o WHERE o.thread = '
                        'r.thread AND o.opcode IS NULL) > 1')


@kind('missing receive of many alike', promise=False)
def drop_alike_receive(db, rng):
    # the next message takes the next one, and there is always one more
    return drop_receive(db, rng, f'{ALIKE} = 1 AND {SPARE}')


@kind('swapped completions')
def swap_completions(db, rng):
    pair = pick(db, rng, '''SELECT a.thread, a.n, a.i, a.wr_id x, b.n m, b.i j, b.wr_id y
        FROM wc a JOIN wc b ON a.thread = b.thread AND a.qp = b.qp AND b.opcode = a.opcode
        JOIN wr ON wr.thread = a.wr_thread AND wr.n = a.wr_n AND wr.i = a.wr_i AND wr.srq IS NULL
        WHERE a.status = 0 AND b.status = 0 AND a.wr_id <> b.wr_id AND b.n > a.n AND
        NOT EXISTS (SELECT 1 FROM wc c WHERE c.thread = a.thread AND c.qp = a.qp AND
        c.opcode = a.opcode AND c.n > a.n AND c.n < b.n)''')
    if pair:
        for n, i, wr_id in ((pair['n'], pair['i'], pair['y']), (pair['m'], pair['j'], pair['x'])):
            db.execute('UPDATE wc SET wr_id = ? WHERE thread = ? AND n = ? AND i = ?',
                       (wr_id, pair['thread'], n, i))
        return {(pair['thread'], pair['n']), (pair['thread'], pair['m'])}


@kind('swapped changes of state')
def swap_calls(db, rng):
    pair = pick(db, rng, f'''SELECT c.thread, c.n, c.args x, d.n m, d.args y FROM call c JOIN call d
        ON d.thread = c.thread AND d.object = c.object AND d.verb = c.verb AND d.n > c.n
        WHERE {PLAIN} AND c.verb = 'ibv_modify_qp' AND
        json_extract(c.args, '$.attr.qp_state') = 'IBV_QPS_INIT' AND
        json_extract(d.args, '$.attr.qp_state') = 'IBV_QPS_RTR' ''')
    if pair:
        for n, args in ((pair['n'], pair['y']), (pair['m'], pair['x'])):
            db.execute('UPDATE call SET args = ? WHERE thread = ? AND n = ?',
                       (args, pair['thread'], n))
        return {(pair['thread'], pair['n']), (pair['thread'], pair['m'])}


@kind('another queue pair')
def alter_queue_pair(db, rng):
    row = pick(db, rng, '''SELECT w.*, o.id other, o.number onumber FROM wc w JOIN object o
        ON o.process = w.process AND o.kind = 'qp' AND o.id <> w.qp AND o.number <> w.qp_num
        WHERE w.status = 0 AND w.wr_n IS NOT NULL AND w.qp_num > 0 AND
        o.created_at < w.time AND coalesce(o.destroyed_at, w.time + 1) > w.time''')
    if row:
        set_row(db, 'wc', row, qp=row['other'], qp_num=row['onumber'])
        return at(row)


@kind('completion of no queue pair')
def alter_number(db, rng):
    row = pick_wc(db, rng, 'status = 0 AND qp_num > 0')
    if row:
        set_row(db, 'wc', row, qp=None, qp_num=0xabcdef)
        return at(row)


UD = "(SELECT object FROM call WHERE verb LIKE 'ibv_create_qp%' AND args LIKE '%IBV_QPT_UD%')"


@kind('sender of a datagram')
def alter_sender(db, rng):
    row = pick_wc(db, rng, f'status = 0 AND opcode = {RECV} AND qp IN {UD}')
    if row:
        set_row(db, 'wc', row, src_qp=row['src_qp'] ^ 1 << rng.randrange(8))
        return at(row)


@kind('signal flag')
def clear_signal(db, rng):
    row = pick_post(db, rng, f'send_flags & {SIGNALED} AND {SUCCEEDED}')
    if row:
        set_row(db, 'wr', row, send_flags=row['send_flags'] & ~SIGNALED)
        return at(row) | completions_of(db, row)


@kind('length that was sent')
def alter_sent_length(db, rng):
    row = pick_post(db, rng, 'opcode IN (2, 3) AND num_sge = 1 AND bytes > 8')
    if row:
        db.execute('UPDATE sge SET length = length - 3 WHERE thread = ? AND n = ? AND i = ?',
                   (row['thread'], row['n'], row['i']))
        return at(row) | receptions_of(db, row)


@kind('remote key')
def alter_remote_key(db, rng):
    row = pick_post(db, rng, f'opcode IN (0, 1, 4, 5, 6) AND bytes > 0 AND {SUCCEEDED}')
    if row:
        set_row(db, 'wr', row, rkey=row['rkey'] ^ 0x5a5a00)
        return at(row)


def flip_byte(db, rng, where):
    row = pick(db, rng, f'SELECT * FROM payload p WHERE {where} AND length(bytes) > 0')
    if row:
        data = bytearray(row['bytes'])
        data[rng.randrange(row['before'] or 0, len(data))] ^= 1 << rng.randrange(8)
        set_row(db, 'payload', row, bytes=bytes(data), hash=None)
        return at(row)


@kind('byte that was received')
def alter_received(db, rng):
    return flip_byte(db, rng, "kind = 'recv'")


@kind('byte that was sent')
def alter_sent(db, rng):
    # data that a write puts into memory is not in the trace; nor, with certainty, received data if
    # the request is not
    return flip_byte(db, rng, "kind = 'send' AND EXISTS (SELECT 1 FROM wr WHERE wr.thread = "
                     'p.thread AND wr.n = p.n AND wr.i = p.i AND wr.opcode IN (2, 3)) AND '
                     "hash IN (SELECT hash FROM payload WHERE kind = 'recv' AND captured > 0)")


# Another request of that queue pair fetched a number from there and added to it, before or after.
SERIES = """(SELECT count(*) FROM wc c JOIN wr w ON w.thread = c.wr_thread AND w.n = c.wr_n
    AND w.i = c.wr_i JOIN wr v ON v.qp = w.qp AND v.opcode = 6 AND v.rkey = w.rkey
    AND v.remote_addr = w.remote_addr AND v.time {} w.time
    WHERE c.thread = p.thread AND c.n = p.n AND c.i = p.i AND w.opcode = 6)"""


@kind('number of a series that was fetched')
def alter_fetched(db, rng):
    return flip_byte(db, rng, "kind = 'atomic' AND " + SERIES.format('<') + ' > 0 AND ' +
                     SERIES.format('>') + ' > 0')


# The other program may have stored it without a verb.
@kind('byte that was read', promise=False)
def alter_read(db, rng):
    return flip_byte(db, rng, "kind IN ('read', 'atomic') AND " + SERIES.format('<>') + ' = 0')


TIMES = {'call': ('begin', 'end'), 'post': ('time',), 'wr': ('time',), 'sge': ('time',),
         'poll': ('time',), 'wc': ('time', 'posted'), 'notify': ('time',), 'payload': ('time',),
         'object': ('created_at', 'destroyed_at'), 'event': ('time',),
         'process': ('fork_time', 'start', 'end'), 'fork': ('time',)}


@kind('times: all of them', promise=False)
def stretch_times(db, rng):
    factor = rng.choice([2, 3, 10])
    for table, columns in TIMES.items():
        for column in columns:
            db.execute(f'UPDATE {table} SET {column} = {column} * {factor} WHERE {column} > 0')
    return set()


@kind('vendor_err of a success', promise=False)
def alter_vendor_err(db, rng):
    row = pick_wc(db, rng, 'status = 0')
    if row:
        set_row(db, 'wc', row, vendor_err=rng.randrange(1, 200))
        return at(row)


@kind('fields of an error', promise=False)
def alter_error_fields(db, rng):
    row = pick_wc(db, rng, 'status <> 0')
    if row:
        set_row(db, 'wc', row, opcode=row['opcode'], byte_len=12345, imm=99, src_qp=7, slid=3)
        return at(row)


@kind('immediate of a message without', promise=False)
def alter_no_immediate(db, rng):
    row = pick_wc(db, rng, f'status = 0 AND opcode = {RECV} AND NOT wc_flags & {WITH_IMM}')
    if row:
        set_row(db, 'wc', row, imm=rng.getrandbits(32))
        return at(row)


@kind('length of what was sent', promise=False)
def alter_send_length(db, rng):
    row = pick_wc(db, rng, 'status = 0 AND opcode IN (0, 1)')
    if row:
        set_row(db, 'wc', row, byte_len=0)
        return at(row)


@kind('number of empty polls', promise=False)
def alter_empty(db, rng):
    db.execute('UPDATE poll SET empty = empty * 3 + 5')
    return set()


@kind('names and places', promise=False)
def alter_names(db, rng):
    db.execute("UPDATE thread SET comm = 'another'")
    db.execute("UPDATE process SET cmdline = 'another', exe = '/bin/another'")
    for table in ('call', 'post', 'wr', 'poll'):
        db.execute(f'UPDATE {table} SET stack = NULL')
    return set()


@kind('handle, wherever it is', promise=False)
def rename_handle(db, rng):
    row = pick(db, rng, "SELECT * FROM object WHERE kind IN ('qp', 'cq', 'pd', 'mr', 'srq', 'ah', "
               "'context', 'comp_channel') AND handle > 65536")
    if not row:
        return None
    old, new, process = row['handle'], row['handle'] + (1 << 46), row['process']
    number = re.compile(rf'(?<!\d){old}(?!\d)')
    for table in ('object', 'post', 'poll', 'notify', 'call'):
        db.execute(f'UPDATE {table} SET handle = ? WHERE handle = ? AND process = ?',
                   (new, old, process))
    for column in ('ah', 'bind_mr', 'bind_mw'):
        db.execute(f'UPDATE wr SET {column} = ? WHERE {column} = ? AND process = ?',
                   (new, old, process))
    db.execute('UPDATE event SET element = ? WHERE element = ? AND process = ?',
               (new, old, process))
    db.execute('UPDATE ref SET handle = ? WHERE handle = ? AND thread IN '
               '(SELECT id FROM thread WHERE process = ?)', (new, old, process))
    for call in db.execute('SELECT * FROM call WHERE process = ?', (process,)).fetchall():
        set_row(db, 'call', call, **{column: number.sub(str(new), call[column])
                                     for column in ('args', 'out') if call[column]})
    return set()


@kind('wr_ids of a queue, all', promise=False)
def rename_wr_ids(db, rng):
    row = pick(db, rng, "SELECT * FROM object WHERE kind = 'qp' AND id NOT IN "
               '(SELECT wc.qp FROM wc JOIN wr ON wr.thread = wr_thread AND wr.n = wr_n AND '
               'wr.i = wr_i WHERE srq IS NOT NULL AND wc.qp IS NOT NULL)')
    if row:
        db.execute('UPDATE wr SET wr_id = wr_id + 1000000 WHERE qp = ?', (row['id'],))
        db.execute('UPDATE wc SET wr_id = wr_id + 1000000 WHERE qp = ?', (row['id'],))
        return set()


@kind('name of the firmware', promise=False)
def alter_firmware(db, rng):
    db.execute("UPDATE call SET out = replace(out, '\"fw_ver\":\"', '\"fw_ver\":\"99.')")
    return set()
