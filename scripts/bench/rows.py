"""The rows: what is measured, what it may be, and how it comes from the samples.

`less` and `more` say on which side of the budget a row should lie; a row
without a budget is there for reference.
"""
import collections
import os
import shutil

import commands
import measure
import start
from measure import Missing, ratio

Row = collections.namedtuple('Row', 'id group title unit better budget samples')
MIB = 1 << 20
LIST, WCS, FRAMES = 9, 17, 12  # of verbs.c
WHOLE = 'more' if len(measure.CPUS) > 2 else None  # the collector has a processor of its own


def verb(mode, name):
    return lambda: measure.verbs()[mode, name]


def further(many, one, n):
    """What each one after the first costs."""
    def samples():
        rows = measure.verbs()
        return [(m - o) / (n - 1) for m, o in zip(rows['on', many], rows['on', one])]
    return samples


def payload(mode, size):
    return lambda: measure.payload(mode)['payload_%d' % size]


def ust(name):
    return lambda: measure.ust()[name]


def ust_ratio(name):
    return lambda: measure.ust_ratios(name)


def distance(name, where):
    """What a call costs while its ring is read, as a multiple of the same where nobody reads."""
    return lambda: measure.distance_ratios(name, where)


def threads(n, way):
    def samples():
        found = measure.threads(n)
        if way not in found:
            raise Missing('LTTng not installed')
        return found[way]
    return samples


def minute(name):
    return lambda: measure.minute()[name]


def limit(name, convert=lambda ns: ns):
    return lambda: [convert(ns) for ns in measure.limits()[name]]


def gbytes(ns):
    return MIB / ns


def device(test, way='bare'):
    def samples():
        found = measure.device(test)
        if way not in found:
            raise Missing('ucx_perftest not installed')
        return found[way]
    return samples


def against_ucx(test):
    return lambda: ratio(device(test)(), device(test, 'ucx')())


def recorded(test, faster_is_less):
    """Rate when recorded, as a part of the rate when not."""
    def samples():
        pairs = measure.recorded_pairs(test)
        return [b / r if faster_is_less else r / b for b, r in pairs]
    return samples


def recorded_whole(test, faster_is_less):
    def samples():
        rows = measure.whole(test)
        return ratio(*(rows['run'], rows['record'])[::1 if faster_is_less else -1])
    return samples


def ucx_put():
    return [measure.ucx(['-t', 'ucp_put_bw', '-s', str(MIB), '-n', '3000'], 'bw') * MIB / 1e9
            for _ in range(measure.ROUNDS)]


def against_vm_call(test):
    """Time of an operation, as a multiple of one process_vm call and a flag."""
    def samples():
        found = measure.device(test)
        return [us * 1000 / (call + flag) for us, call, flag in
                zip(found['bare'], found['vm_write_8'], found['half_trip'])]
    return samples


def against_vm_bw(test):
    """perftest's MB are of 2^20 bytes."""
    def samples():
        found = measure.device(test)
        return [mb * MIB * ns / 1e9 / MIB for mb, ns in zip(found['bare'], found['vm_write_1m'])]
    return samples


def bytes_an_event():
    """A sample a program: the whole file, its tables and stacks with it."""
    found = [measure.recorded(name) for name in measure.RECORDED]
    return [size / events for _, events, size, _ in found]


def check_rate():
    path, events, _, _ = measure.recorded('ib_send_lat')
    return [events / measure.seconds([measure.VERBATIM, 'check', path], (0, 1)) / 1e6
            for _ in range(measure.ROUNDS)]


def check_control_rate():
    path, events = measure.recorded_control()
    return [events / measure.seconds([measure.VERBATIM, 'check', path], (0, 1)) / 1e6
            for _ in range(measure.ROUNDS)]


def parquet_costs():
    """Rows (requests and completions) a second, and bytes a request."""
    path, _, _, _ = measure.recorded('ib_send_lat')
    count = measure.run([measure.VERBATIM, 'sql', path, 'SELECT count(*) FROM requests'])
    requests = int(count.stdout)
    for _ in range(measure.ROUNDS):
        out = os.path.join(os.path.dirname(path), 'lake')
        shutil.rmtree(out, ignore_errors=True)
        argv = [measure.VERBATIM, 'export', '-f', 'parquet', '-o', out, path]
        seconds = measure.used_by(argv)['cpu'][0]
        size = sum(os.path.getsize(os.path.join(folder, name))
                   for folder, _, names in os.walk(os.path.join(out, 'requests'))
                   for name in names)
        yield 2 * requests / seconds / 1e6, size / requests


def parquet(which):
    return lambda: [costs[which] for costs in parquet_costs()]


def check_memory():
    path, _ = measure.recorded_long()
    return [measure.memory_of([measure.VERBATIM, 'check', path])]


def replay_times(name, *options):
    return measure.replay_times(measure.recorded(name)[0], *options)


def own_seconds(name):
    """What its messages take the program itself, unrecorded: both ends at once."""
    own = measure.RECORDED[name]
    n = int(own[own.index('-n') + 1])
    env = measure.preload(measure.SOFT)
    if name.endswith('_lat'):
        return measure.perftest(own, 'lat', env) * 2 * n / 1e6
    return n / measure.perftest(own, 'rate', env) / 1e6


def replay_rate(name, *options):
    """A replay of the compiled trace against the program itself, in turn."""
    return lambda: [own_seconds(name) / replay_times(name, *options)['replayed']
                    for _ in range(measure.ROUNDS)]


def replay_whole(name):
    """The same with what it takes to compile it."""
    def sample():
        own, times = own_seconds(name), replay_times(name)
        return own / (times['compiled'] + times['replayed'])
    return lambda: [sample() for _ in range(measure.ROUNDS)]


def replay_compile():
    path, events, _, _ = measure.recorded('ib_send_lat')
    return [measure.replay_times(path)['compiled'] / events * 1e9 for _ in range(measure.ROUNDS)]


def replay_recorded():
    span = measure.recorded('ib_send_lat')[3]
    return [span / replay_times('ib_send_lat')['replayed'] for _ in range(measure.ROUNDS)]


def replay_memory():
    path, _ = measure.recorded_long()
    return [measure.memory_of([measure.VERBATIM, 'replay', '--threads', 'serial', '--device',
                               'soft', path])]


def replay_cost(stage):
    return lambda: [costs[stage] for costs in measure.replay_costs()]


DATA = [('post', 'post'), ('build', 'built post'), ('recv', 'receive'),
        ('poll', 'poll of one')]

RECORDING = [
    ('off_control', 'recorder loaded, no session: control verb', 'less', 2, verb('off', 'control')),
    ('off_post', 'recorder loaded, no session: post', 'less', 2, verb('off', 'post_one')),
    ('off_poll', 'recorder loaded, no session: poll', 'less', 2, verb('off', 'poll_empty')),
    ('ended_control', 'session closed: control verb', 'less', 2, verb('ended', 'control')),
    ('ended_post', 'session closed: post', 'less', 2, verb('ended', 'post_one')),
    ('ended_poll', 'session closed: poll', 'less', 2, verb('ended', 'poll_empty')),
    ('poll_empty', 'poll of an empty CQ', 'less', 3, verb('on', 'poll_empty')),
    ('post_one', 'post of one work request, one SGE', 'less', 15, verb('on', 'post_one')),
    ('post_from_two', 'the same, from two places with one frame', 'less', 15,
     verb('on', 'post_from_two')),
    *(row for name, title in DATA for row in (
        (name + '_unread', title + ': nobody reads its ring', None, None,
         lambda name=name: measure.read(name + '_unread')),
        (name + '_read', title + ': read meanwhile', 'less', 15,
         lambda name=name: measure.read(name + '_read')),
        (name + '_collected', title + ': under verbatim record', None, None,
         lambda name=name: measure.collected()[name]))),
    ('post_further', 'each further one in the list', 'less', 6,
     further('post_list', 'post_one', LIST)),
    ('off_build', 'recorder loaded, no session: the same, built', 'less', 8,
     verb('off', 'build_one')),
    ('build_one', 'the same, built: start, send, sge, complete', 'less', 15,
     verb('on', 'build_one')),
    ('post_recv', 'post of one receive, one SGE', 'less', 15, verb('on', 'post_recv')),
    ('notify', 'request for notification', 'less', 15, verb('on', 'notify')),
    ('poll_one', 'poll that returns one completion', 'less', 18, verb('on', 'poll_one')),
    ('poll_many', 'poll that returns %d' % WCS, 'less', 12 + 6 * WCS, verb('on', 'poll_many')),
    ('strict_post', 'record --strict: post', None, None, verb('strict', 'post_one')),
    ('strict_poll', 'record --strict: poll that returns one', None, None,
     verb('strict', 'poll_one')),
    ('strict_empty', 'record --strict: poll of an empty CQ', None, None,
     verb('strict', 'poll_empty')),
    ('hash_64', 'post with the hash of 64 B', None, None, payload('hash', 64)),
    ('hash_4k', 'post with the hash of 4 KiB', None, None, payload('hash', 4096)),
    ('full_64', 'post with 64 B as they are', None, None, payload('full', 64)),
    ('full_4k', 'post with 4 KiB as they are', None, None, payload('full', 4096)),
    ('control', 'control verb, backtrace of %d frames' % FRAMES, 'less', 2000,
     verb('on', 'control')),
    ('frames', 'frames that it has', None, None, verb('on', 'frames')),
    ('noise', 'the same call twice, nothing loaded', None, None, verb('plain', 'post_one')),
    ('verb_itself', 'a verb that does nothing', None, None, verb('plain', 'verb_itself')),
    ('rdtsc', 'reading the time stamp counter', None, None, verb('plain', 'rdtsc')),
    ('clock_gettime', 'clock_gettime()', None, None, verb('plain', 'clock_gettime')),
    ('ust_idle', 'LTTng tracepoint, no session', None, None, ust('ust_idle')),
    ('ust_post', 'LTTng tracepoint of a post', None, None, ust('ust_post')),
    ('tapped', 'post, our tracepoints loaded, none enabled', None, None,
     lambda: measure.tapped()['post_one']),
]

ROWS = [Row(id, 'recording', title, 'ns', better, budget, samples)
        for id, title, better, budget, samples in RECORDING] + [
    *(Row('%s_%s' % (name, where), 'recording', '%s: read / unread, reader %s' % (title, where),
          'x', 'less', 1.3, distance(name, where))
      for where in ('near', 'far')
      for name, title in [*DATA, ('polls', 'poll of %d' % WCS)]),
    *(Row(name + '_ust', 'recording', title + ': read meanwhile / LTTng', 'x', 'less', 1 / 8,
          ust_ratio(name)) for name, title in DATA),
    Row('rec_send_lat', 'recording', 'ib_send_lat 8 B: recorded, of its rate', 'x', 'more', 0.9,
        recorded('send_lat', True)),
    Row('rec_send_rate', 'recording', 'ib_send_bw 8 B: recorded, of its rate', 'x', 'more', 0.8,
        recorded('send_rate', False)),
    Row('rec_write_bw', 'recording', 'ib_write_bw 1 MiB: recorded, of its rate', 'x', 'more', 0.9,
        recorded('write_bw', False)),

    Row('whole_send_lat', 'recording', 'ib_send_lat under verbatim record', 'x', WHOLE, 0.9,
        recorded_whole('send_lat', True)),
    Row('whole_write_bw', 'recording', 'ib_write_bw 1 MiB under verbatim record', 'x', WHOLE, 0.9,
        recorded_whole('write_bw', False)),

    *(Row('threads_%d' % n, 'threads', 'post from %d threads at once' % n if n > 1 else
          'post from 1 thread', 'ns', 'less', 15, threads(n, 'ours')) for n in (1, 2, 4)),
    *(Row('threads_%d_ust' % n, 'threads', 'LTTng tracepoint, %d thread%s' % (n, 's' * (n > 1)),
          'ns', None, None, threads(n, 'ust')) for n in (1, 2, 4)),

    Row('minute_rate', 'minute', 'recorded for a minute: requests, completions', 'M/s', None, None,
        minute('rate')),
    Row('minute_growth', 'minute', 'recorder grows from first to last quarter', 'MB', 'less', 4,
        minute('growth')),
    Row('minute_memory', 'minute', 'recorder, at most', 'MB', None, None, minute('memory')),

    Row('start', 'start', 'record of a program without verbs', 'ms', 'less', 5,
        lambda: start.nothing()['cpu']),
    Row('start_time', 'start', 'the same, until it has ended', 'ms', 'less', 20,
        lambda: start.nothing()['time']),
    Row('start_verb', 'start', 'the first verbs, above that', 'ms', 'less', 1, start.first_verb),
    Row('start_threads', 'start', '%d threads of three verbs' % start.THREADS, 'x', 'less', 1.5,
        start.threads),
    Row('finish', 'start', 'end of a recording of 100 M events', 's', 'less', 1.1, start.finish),

    Row('sustained', 'trace', 'into trace.db, one core', 'M/s', 'more', 15,
        lambda: measure.feed()[0]['sustained']),
    Row('size', 'trace', 'bytes an event, perftest', 'B', 'less', 4, bytes_an_event),
    *(Row('size_' + name, 'trace', 'bytes an event, ' + title, 'B', 'less', 4,
          lambda name=name, n=n: [measure.recorded_service(name, n)])
      for name, title, n in (('events', 'awaited completions', 50000),
                             ('regions', 'registrations', 50000),
                             ('connections', 'connections', 1000))),
    Row('open', 'trace', 'opening, to the first event of 20 M', 's', 'less', 1,
        lambda: measure.scan()['open']),
    Row('scan', 'trace', 'a full scan', 'M/s', 'more', 5, lambda: measure.scan()['scan']),
    Row('check', 'trace', 'verbatim check, all rules', 'M/s', 'more', 10, check_rate),
    Row('check_control', 'trace', 'the same, control verbs', 'M/s', 'more', 1, check_control_rate),
    Row('parquet', 'trace', 'export -f parquet, rows a core', 'M/s', 'more', 3, parquet(0)),
    Row('parquet_bytes', 'trace', 'the same, of a request', 'B', 'less', 8, parquet(1)),
    Row('check_memory', 'trace', 'the same, at most, 50 M events', 'MB', 'less', 64, check_memory),
    *(Row('command_%s_%s' % (name, what), 'commands',
          '%s: %s' % (name.replace('_', ' '), title), unit, better, budget,
          commands.cost(name, what))
      for name in commands.COMMANDS
      for what, title, unit, better, budget in
      (('ns', 'an event', 'ns', None, None),
       ('memory', 'memory', 'MB', 'less', 64),
       ('growth', 'memory for 10 times the events', 'MB', 'less', 8))),

    Row('replay', 'replay', 'ib_send_lat, of its own rate', 'x', 'more', 1,
        replay_rate('ib_send_lat')),
    Row('replay_send_bw', 'replay', 'ib_send_bw, of its own rate', 'x', 'more', 1,
        replay_rate('ib_send_bw')),
    Row('replay_write_bw', 'replay', 'ib_write_bw, of its own rate', 'x', 'more', 1,
        replay_rate('ib_write_bw')),
    *(Row('replay_%s_%s' % (way, name), 'replay', 'ib_%s --threads %s' % (name, way), 'x', 'more',
          1, replay_rate('ib_' + name, '--threads', way))
      for way in ('serial', 'recorded') for name in ('send_lat', 'send_bw', 'write_bw')),
    Row('replay_recorded', 'replay', 'ib_send_lat, of its rate while recorded', 'x', None, None,
        replay_recorded),
    Row('replay_whole', 'replay', 'the same with its compilation, of its own', 'x', None, None,
        replay_whole('ib_send_lat')),
    Row('replay_compile', 'replay', 'to compile an event', 'ns', None, None, replay_compile),
    *(Row('replay_' + stage, 'replay', 'serial, an event: ' + stage, 'ns', None, None,
          replay_cost(stage))
      for stage in ('decode', 'order', 'write', 'read', 'translate', 'post', 'poll', 'compare')),
    Row('replay_memory', 'replay', 'at most, 50 M events', 'MB', 'less', 512, replay_memory),

    Row('half_trip', 'device', 'flag and payload, half a round trip', 'ns', None, None,
        limit('half_trip')),
    Row('vm_write_8', 'device', 'process_vm_writev() 8 B', 'ns', None, None, limit('vm_write_8')),
    Row('vm_write_1m', 'device', 'process_vm_writev() 1 MiB', 'GB/s', None, None,
        limit('vm_write_1m', gbytes)),
    Row('memcpy_1m', 'device', 'memcpy() 1 MiB', 'GB/s', None, None, limit('memcpy_1m', gbytes)),
    Row('ucx_tag_lat', 'device', 'UCX tag_lat 8 B', 'us', None, None, device('send_lat', 'ucx')),
    Row('send_lat', 'device', 'ib_send_lat 8 B', 'us', None, None, device('send_lat')),
    Row('send_lat_ucx', 'device', 'ib_send_lat 8 B against UCX', 'x', 'less', 1,
        against_ucx('send_lat')),
    Row('mpi_lat', 'device', 'Open MPI vader 64 B', 'us', None, None,
        lambda: measure.against_mpi()['mpi']),
    Row('send_lat_mpi', 'device', 'ib_send_lat 64 B against Open MPI', 'x', 'less', 1,
        lambda: ratio(measure.against_mpi()['bare'], measure.against_mpi()['mpi'])),
    Row('loop_send', 'device', 'one process: send 8 B, above memcpy', 'ns', 'less', 100,
        lambda: measure.loopback()['send_8']),
    Row('loop_write', 'device', 'one process: write 8 B, above memcpy', 'ns', 'less', 100,
        lambda: measure.loopback()['write_8']),
    Row('loop_write_4k', 'device', 'one process: write 4 KiB, above memcpy', 'ns', 'less', 100,
        lambda: measure.loopback()['write_4096']),
    Row('loop_build', 'device', 'one process: write 8 B built, above posted', 'ns', 'less', 10,
        lambda: measure.loopback()['build_8']),
    Row('write_lat', 'device', 'ib_write_lat 8 B against process_vm', 'x', 'less', 1.3,
        against_vm_call('write_lat')),
    Row('read_lat', 'device', 'ib_read_lat 8 B against process_vm', 'x', 'less', 1.3,
        against_vm_call('read_lat')),
    Row('send_rate', 'device', 'ib_send_bw 8 B', 'M/s', 'more', 4, device('send_rate')),
    Row('write_bw', 'device', 'ib_write_bw 1 MiB against process_vm', 'x', 'more', 0.7,
        against_vm_bw('write_bw')),
    Row('write_bw_ucx', 'device', 'ib_write_bw 1 MiB against UCX', 'x', 'more', 1,
        against_ucx('write_bw')),
    Row('ucx_put_bw', 'device', 'UCX put 1 MiB, memory of its own', 'GB/s', None, None, ucx_put),
    Row('send_bw', 'device', 'ib_send_bw 1 MiB against process_vm', 'x', 'more', 0.7,
        against_vm_bw('send_bw')),
    Row('send_bw_ucx', 'device', 'ib_send_bw 1 MiB against UCX', 'x', 'more', 1,
        against_ucx('send_bw')),
    Row('wire_send_lat', 'device', 'two namespaces: ib_send_lat 8 B', 'us', None, None,
        lambda: measure.wire('send_lat')),
    *(Row('wire_' + test, 'device', 'two namespaces: ib_%s 1 MiB' % test, 'MB/s', None, None,
          lambda test=test: measure.wire(test)) for test in ('write_bw', 'send_bw')),
]
