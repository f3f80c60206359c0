"""Run the programs of this folder, and others, and take the figures out of what they print."""
import functools
import json
import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get('BUILD', 'build'))
BENCH = os.path.join(BUILD, 'bench')
VERBATIM = os.path.join(BUILD, 'verbatim')
RECORDER = os.path.join(BUILD, 'libverbatim.so')
TRACEPOINTS = os.path.join(BUILD, 'libverbatim-lttng.so')
SOFT = os.path.join(BUILD, 'libverbatim-soft.so')
ROUNDS = 5
CPUS = sorted(os.sched_getaffinity(0))


class Missing(Exception):
    """What a row measures is not there: the reason is printed in its place."""


# the programs to build: sources here, folders of the objects that they are linked with, flags
WIRE = ['core/base', 'core/wire', 'gen']
STORE = ['core/model', 'core/store'] + WIRE
STORE_LIBS = ['-lsqlite3', '-lzstd']
PROGRAMS = {
    'libibverbs.so.1': (['fake_verbs.c'], [], ['-shared', '-Wl,-soname,libibverbs.so.1',
                        '-Wl,--version-script=scripts/bench/fake_verbs.map']),
    'verbs': (['verbs.c', 'sample.c', 'drain.c'], WIRE, ['-l:libibverbs.so.1']),
    'ust.so': (['ust.c'], [], ['-shared', '-Wno-missing-prototypes', '-llttng-ust']),
    'threads': (['threads.c', 'sample.c'], [], ['-l:libibverbs.so.1']),
    'stream': (['stream.c'], [], ['-libverbs']),
    'control': (['control.c'], [], ['-libverbs']),
    'first_verbs': (['first_verbs.c'], [], ['-libverbs']),
    'limits': (['limits.c', 'sample.c'], [], []),
    'hold': (['hold.c'], WIRE, []),
    'loopback': (['loopback.c', 'sample.c'], [], ['-libverbs']),
    'mpi_lat': (['mpi_lat.c'], [], ['-Wno-unused-parameter']),
    'feed': (['feed.c', 'sample.c'], STORE, STORE_LIBS),
    'scan': (['scan.c', 'sample.c'], STORE, STORE_LIBS),
    'used': (['used.c'], [], []),
}


def objects(folders):
    """Those of the folders, without the loadable extension: it is for another program's SQLite."""
    found = []
    for folder in folders:
        for path, _, files in os.walk(os.path.join(BUILD, 'obj', folder)):
            found += [os.path.join(path, f) for f in files
                      if f.endswith('.o') and f != 'extension.o']
    return sorted(found)


def compiler(name):
    if not name.startswith('mpi_'):
        return os.environ.get('CC', 'cc')
    if not shutil.which('mpicc') or not shutil.which('mpirun'):
        raise Missing('Open MPI not installed')
    return 'mpicc'


@functools.cache
def program(name):
    """The path of a program of this folder, compiled."""
    sources, folders, flags = PROGRAMS[name]
    out = os.path.join(BENCH, name)
    os.makedirs(BENCH, exist_ok=True)
    if '-l:libibverbs.so.1' in flags:
        program('libibverbs.so.1')
    made = subprocess.run(
        [compiler(name), '-std=gnu11', '-D_GNU_SOURCE', '-O2', '-g', '-Wall', '-Wextra',
         '-Werror', '-Wmissing-prototypes', '-fPIC', '-fno-omit-frame-pointer', '-I.',
         '-I' + BUILD, '-o', out] + ['scripts/bench/' + s for s in sources] + objects(folders) +
        ['-L' + BENCH, '-Wl,-rpath,$ORIGIN'] + flags + ['-lpthread'], cwd=TOP)
    if made.returncode:
        raise Missing('%s does not build' % name)
    return out


def need(path, what):
    if not os.path.exists(path):
        raise Missing(what + ' not there yet')


def preload(*libraries, **more):
    return dict(os.environ, LD_PRELOAD=':'.join(libraries), **more)


def read_samples(text):
    """Lines "NAME NUMBER ..." as lists by name."""
    rows = {}
    for line in text.splitlines():
        name, *numbers = line.split()
        rows.setdefault(name, []).extend(float(n) for n in numbers)
    return rows


def merge(rounds):
    all_rows = {}
    for rows in rounds:
        for name, samples in rows.items():
            all_rows.setdefault(name, []).extend(samples)
    return all_rows


def run(argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, **more)
    if done.returncode:
        raise Missing('failed: ' + (done.stderr.strip().splitlines() or ['?'])[-1][:60])
    return done


# the recorder around a verb that does nothing

MODES = ('plain', 'off', 'ended', 'on', 'strict')


def verbs_once(mode, *more, libraries=()):
    env = os.environ if mode in ('plain', 'ust') else preload(RECORDER, *libraries)
    env = {k: v for k, v in env.items() if k != 'VERBATIM_DIR'}
    return read_samples(run([program('verbs'), mode, *more], env=env).stdout)


@functools.cache
def verbs():
    """Samples by (mode, row), the modes in turn."""
    need(RECORDER, 'recorder')
    rounds = [{(mode, name): samples for mode in MODES
               for name, samples in verbs_once(mode).items()} for _ in range(3)]
    return merge(rounds)


FAR_NS = 120  # a flag takes some 25 to 70 ns between near processors, 230 to 300 between far ones


def least_pace(rounds):
    """The pace of the processor at its fastest: the same loop in each round."""
    return min(v for rows in rounds for key, values in rows.items() if key.endswith('_paces')
               for v in values)


def pace_of(before, after, least):
    """fast or slow, if it was that before a sample and after it, else None."""
    if max(before, after) < 1.15 * least:
        return 'fast'
    return 'slow' if min(before, after) > 1.6 * least else None


@functools.cache
def distances(name):
    """Costs by (pace, near or far, read or unread) of samples during which neither changed."""
    found, rounds = {}, distance_rounds()
    least = least_pace(rounds)
    for rows in rounds:
        paces, far = rows[name + '_paces'], [ns > FAR_NS for ns in rows[name + '_flag']]
        for i in range(len(far) - 1):
            pace = pace_of(paces[i], paces[i + 1], least)
            if not pace or far[i] != far[i + 1]:
                continue
            way, where = 'read' if i % 2 else 'unread', 'far' if far[i] else 'near'
            found.setdefault((pace, where, way), []).append(rows['%s_%s' % (name, way)][i // 2])
    return found


@functools.cache
def distance_rounds():
    need(RECORDER, 'recorder')
    return [verbs_once('read') for _ in range(4 * ROUNDS)]


def read(name):
    """All samples of a row, in whatever state."""
    return merge(distance_rounds())[name]


def distance_ratios(name, where):
    """Read meanwhile against unread, where the machine was in one state: each sample of it."""
    found, ratios = distances(name), []
    for pace in ('fast', 'slow'):
        unread = found.get((pace, where, 'unread'), [])
        if len(unread) >= ROUNDS:
            ratios += [x / statistics.median(unread) for x in found.get((pace, where, 'read'), [])]
    if len(ratios) < ROUNDS:
        raise Missing('the reader was not %s for long enough' % where)
    return ratios


@functools.cache
def collected():
    """Samples of the data verbs under `verbatim record`, whose collector writes the trace."""
    need(VERBATIM, 'verbatim')
    # without the software device, which `record` gives it where the machine has no other
    argv = ['env', 'LD_PRELOAD=' + RECORDER, program('verbs'), 'collected']

    def once():
        recorder = [VERBATIM, 'record', '--quiet', '-o', scratch('verbs.db'), '--']
        return read_samples(run(recorder + argv).stdout)
    return merge([once() for _ in range(3)])


@functools.cache
def payload(mode):
    """Samples of a post whose payload is kept."""
    need(RECORDER, 'recorder')
    return merge([verbs_once('payload', mode) for _ in range(3)])


@functools.cache
def tapped():
    """Samples of recording while LTTng's tracepoints are loaded and none is enabled."""
    need(TRACEPOINTS, 'tracepoints')
    return merge([verbs_once('on', libraries=(TRACEPOINTS,)) for _ in range(3)])


def ust_recorded(lib, name='verbs', argument='ust'):
    """LTTng's tracepoint in a session of its own."""
    folder = tempfile.mkdtemp(prefix='verbatim-bench.')
    try:
        done = run([os.path.join(HERE, 'with-lttng'), folder, program(name), argument,
                    lib])
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # the daemon that ends removes its own files
    if 'discarded 0' not in done.stderr:
        raise Missing('LTTng lost events: ' + done.stderr.strip()[-40:])
    return read_samples(done.stdout)


@functools.cache
def ust_rounds():
    if not shutil.which('lttng-sessiond'):
        raise Missing('LTTng not installed')
    lib = program('ust.so')
    return [ust_recorded(lib) for _ in range(ROUNDS)]


@functools.cache
def ust():
    """Samples of a post by LTTng, with a session and without."""
    lib = program('ust.so')
    return {'ust_post': merge(ust_rounds())['ust_post'],
            'ust_idle': merge(verbs_once('ust', lib) for _ in range(ROUNDS))['ust_post']}


@functools.cache
def ust_by_pace():
    found, least = {}, least_pace(ust_rounds() + distance_rounds())
    for rows in ust_rounds():
        paces = rows['ust_paces']
        for i, cost in enumerate(rows['ust_post']):
            found.setdefault(pace_of(paces[i], paces[i + 1], least), []).append(cost)
    return found


def ust_ratios(name):
    """Read meanwhile, near and far, against LTTng at the same pace of the processor."""
    found, ratios = distances(name), []
    for pace in ('fast', 'slow'):
        theirs = ust_by_pace().get(pace, [])
        if len(theirs) >= ROUNDS:
            ratios += [x / statistics.median(theirs) for where in ('near', 'far')
                       for x in found.get((pace, where, 'read'), [])]
    if len(ratios) < ROUNDS:
        raise Missing('the processor changed its pace all the time')
    return ratios


@functools.cache
def threads(n):
    """Samples of a post from each of n threads, in turn: by us, by LTTng."""
    need(RECORDER, 'recorder')
    count, lib, rounds = str(n), program('ust.so'), []
    for _ in range(2):
        done = run([program('hold'), program('threads'), count],
                   env=preload(RECORDER, VERBATIM_DIR=''))
        rounds.append({'ours': read_samples(done.stdout)['post_' + count]})
        if shutil.which('lttng-sessiond'):
            rounds.append({'ust': ust_recorded(lib, 'threads', count)['post_' + count]})
    return merge(rounds)


# two processes of one machine

def limits_once():
    return read_samples(run([program('limits')]).stdout)


@functools.cache
def limits():
    return merge(limits_once() for _ in range(2))


def listening(port):
    for table in ('/proc/net/tcp', '/proc/net/tcp6'):
        with open(table) as f:
            if re.search(r':%04X [0-9A-F:]+ 0A ' % port, f.read()):
                return True
    return False


def free_port():
    port = 18500 + os.getpid() % 400
    while listening(port):
        port += 1
    return port


def pair(server, client, env=None, around=()):
    """Run a server and, once it listens, its client; what the client prints."""
    port = free_port()
    on = lambda cpu, argv: ['taskset', '-c', str(cpu), *around, *argv, '-p', str(port)]
    first = subprocess.Popen(on(CPUS[-1], server), env=env, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        until = time.time() + 10
        while not listening(port):
            if time.time() > until or first.poll() is not None:
                raise Missing('failed: the server does not listen')
            time.sleep(0.01)
        return run(on(CPUS[0], client), env=env).stdout
    finally:
        try:
            first.wait(5)
        except subprocess.TimeoutExpired:
            first.kill()
            first.wait()


# where the figure stands in the last line of perftest's table
COLUMNS = {'lat': 4, 'bw': 3, 'rate': 4}


def perftest(argv, column, env, around=()):
    """One run: t_typical in us, or MB/s, or million messages a second."""
    if not shutil.which(argv[0]):
        raise Missing('perftest not installed')
    return figure(pair(argv, argv + ['localhost'], env, around), column)


def figure(out, column):
    lines = [l.split() for l in out.splitlines() if re.match(r' *\d+ +\d+ +[\d.]', l)]
    if not lines:
        raise Missing('failed: no figures')
    return float(lines[-1][COLUMNS[column]])


def ucx(argv, column):
    """One run of ucx_perftest over shared memory: median us, or MB/s."""
    if not shutil.which('ucx_perftest'):
        raise Missing('ucx_perftest not installed')
    argv = ['ucx_perftest'] + argv
    out = pair(argv, argv + ['localhost'], dict(os.environ, UCX_TLS='sm'))
    final = [l.split() for l in out.splitlines() if l.startswith('Final:')][-1]
    return float(final[{'lat': 2, 'bw': 5}[column]])


def mpi_lat(size):
    """One run of two ranks over Open MPI's own shared memory: median us."""
    argv = ['mpirun', '--allow-run-as-root', '--bind-to', 'core', '-np', '2', '--mca', 'pml', 'ob1',
            '--mca', 'btl', 'self,vader', program('mpi_lat'), str(size)]
    return statistics.median(read_samples(run(argv).stdout)['mpi_lat'])


# name: program and options, which figure, and the same over UCX
TESTS = {
    'send_lat': (['ib_send_lat', '-s', '8', '-n', '200000'], 'lat',
                 ['-t', 'tag_lat', '-s', '8', '-n', '100000']),
    'write_lat': (['ib_write_lat', '-s', '8', '-n', '20000'], 'lat', None),
    'read_lat': (['ib_read_lat', '-s', '8', '-n', '20000'], 'lat', None),
    'send_rate': (['ib_send_bw', '-s', '8', '-n', '2000000'], 'rate', None),
    'write_bw': (['ib_write_bw', '-s', '1048576', '-n', '10000'], 'bw',
                 ['-t', 'tag_bw', '-s', '1048576', '-n', '3000']),
    'send_bw': (['ib_send_bw', '-s', '1048576', '-n', '3000'], 'bw',
                ['-t', 'tag_bw', '-s', '1048576', '-n', '3000']),
}


@functools.cache
def device(test):
    """Samples by way, in turn: bare, the machine's limits, and UCX."""
    need(SOFT, 'software device')
    argv, column, peer = TESTS[test]
    rounds = []
    for _ in range(ROUNDS):
        rows = {name: [statistics.median(samples)] for name, samples in limits_once().items()}
        rows['bare'] = [perftest(argv, column, preload(SOFT))]
        if peer and shutil.which('ucx_perftest'):
            rows['ucx'] = [ucx(peer, column)]
        rounds.append(rows)
    return merge(rounds)


def is_far():
    """Are the first and the last processor far from each other now?"""
    return read_samples(run([program('limits'), 'now']).stdout)['half_trip'][0] > FAR_NS


@functools.cache
def recorded_pairs(test):
    """(bare, recorded) in turn, of the pairs during which the processors stayed near, or far."""
    need(SOFT, 'software device')
    argv, column, _ = TESTS[test]
    pairs = []
    for _ in range(3 * ROUNDS):
        far, pair = [is_far()], []
        for env, around in ((preload(SOFT), []), (preload(RECORDER, SOFT), [program('hold')])):
            pair.append(perftest(argv, column, env, around))
            far.append(is_far())
        if len(set(far)) == 1:
            pairs.append(pair)
    if len(pairs) < 3:
        raise Missing('the machine changed all the time')
    return pairs


@functools.cache
def against_mpi():
    """ib_send_lat of 64 B and Open MPI in turn."""
    need(SOFT, 'software device')
    argv = ['ib_send_lat', '-s', '64', '-n', '20000']
    return merge({'bare': [perftest(argv, 'lat', preload(SOFT))], 'mpi': [mpi_lat(64)]}
                 for _ in range(ROUNDS))


@functools.cache
def wire(test):
    """Samples of a test over the device's wire, between two network namespaces."""
    need(SOFT, 'software device')
    argv, column, _ = TESTS[test]
    if not shutil.which(argv[0]):
        raise Missing('perftest not installed')
    command = [os.path.join(HERE, 'wire'), SOFT] + argv[:-1] + ['2000']
    done = [subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for _ in range(ROUNDS)]
    if any(each.returncode for each in done):
        raise Missing('no network namespaces, or it failed')
    return [figure(each.stdout, column) for each in done]


@functools.cache
def loopback():
    need(SOFT, 'software device')
    return read_samples(run([program('loopback')], env=preload(SOFT)).stdout)


# the trace

def scratch(name):
    """A path for a trace that one run needs; nothing is there."""
    path = os.path.join(BENCH, name)
    os.makedirs(BENCH, exist_ok=True)
    if os.path.exists(path):
        os.remove(path)
    return path


@functools.cache
def feed():
    """The writer's samples, and the trace that it made."""
    need(os.path.join(BUILD, 'obj/core/store/write/writer.o'), 'writer')
    path = scratch('feed.db')
    return read_samples(run([program('feed'), path]).stdout), path


@functools.cache
def scan():
    """Samples of reading what feed() wrote, and how far it is from 100 M events."""
    return read_samples(run([program('scan'), feed()[1]]).stdout)


# programs whose traces are typical, each with some hundred thousand events
RECORDED = {
    'ib_send_lat': ['ib_send_lat', '-s', '8', '-n', '100000'],
    'ib_write_lat': ['ib_write_lat', '-s', '8', '-n', '20000'],
    'ib_send_bw': ['ib_send_bw', '-s', '64', '-n', '500000'],
    'ib_write_bw': ['ib_write_bw', '-s', '4096', '-n', '200000'],
    'ib_read_bw': ['ib_read_bw', '-s', '4096', '-n', '100000'],
}


def both(argv):
    return [os.path.join(HERE, 'both'), str(free_port())] + argv


@functools.cache
def recorded(name):
    """The trace of a program and its server, its events, bytes and seconds."""
    need(VERBATIM, 'verbatim')
    need(SOFT, 'software device')
    path = scratch(name + '.db')
    run([VERBATIM, 'record', '-q', '--device', 'soft', '-o', path, '--'] + both(RECORDED[name]))
    events = count_events(path)
    db = sqlite3.connect('file:%s?mode=ro' % path, uri=True)
    begin, end = db.execute('SELECT min(begin), max(end) FROM chunk').fetchone()
    db.close()
    return path, events, os.path.getsize(path), (end - begin) / 1e9


@functools.cache
def recorded_control():
    """The trace of a program of control verbs, and its events."""
    need(VERBATIM, 'verbatim')
    need(SOFT, 'software device')
    path = scratch('control.db')
    argv = [program('control'), '200000']
    run([VERBATIM, 'record', '-q', '--device', 'soft', '-o', path, '--'] + argv)
    return path, count_events(path)


@functools.cache
def recorded_service(name, n):
    """Bytes an event of a service's trace; not of program(): it needs the real libibverbs."""
    need(VERBATIM, 'verbatim')
    need(SOFT, 'software device')
    path = scratch(name + '.db')
    service = os.path.join(BENCH, 'services')
    run([compiler('services'), '-std=gnu11', '-D_GNU_SOURCE', '-O2', '-I.', '-o', service,
         'tests/apps/cm_services.c', '-libverbs', '-lrdmacm'], cwd=TOP)
    run([VERBATIM, 'record', '-q', '--device', 'soft', '-o', path, '--', service, name, str(n)])
    return os.path.getsize(path) / count_events(path)


@functools.cache
def recorded_long():
    """A trace of some 50 M events, and how many exactly."""
    need(VERBATIM, 'verbatim')
    need(SOFT, 'software device')
    path = scratch('long.db')
    argv = both(['ib_send_lat', '-s', '8', '-n', '6000000'])
    run([VERBATIM, 'record', '-q', '--device', 'soft', '-o', path, '--'] + argv)
    return path, count_events(path)


def count_events(path):
    db = sqlite3.connect('file:%s?mode=ro' % path, uri=True)
    events = db.execute('SELECT sum(events) FROM thread').fetchone()[0]
    db.close()
    return events


def memory_of(argv):
    """The most memory that a program has resident, in MB."""
    return used_by(argv)['memory'][0]


def used_by(argv):
    """Its processor seconds, `cpu`, and its peak `memory`, MB."""
    done = subprocess.run([program('used')] + argv, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise Missing('failed: verbatim ' + argv[1])
    return read_samples(done.stdout)


@functools.cache
def whole(test):
    """A server and a client under one `verbatim`, not recorded and recorded, in turn."""
    need(VERBATIM, 'verbatim')
    need(SOFT, 'software device')
    argv, column, _ = TESTS[test]
    rows = {'run': [], 'record': []}
    for _ in range(ROUNDS):
        for way, more in (('run', []), ('record', ['-q', '-o', scratch('whole.db')])):
            done = run([VERBATIM, way, '--device', 'soft'] + more + ['--'] + both(argv))
            rows[way].append(figure(done.stdout, column))
    return rows


def resident(pid):
    """MB of memory that a process has."""
    try:
        with open('/proc/%d/status' % pid) as f:
            return int(re.search(r'VmRSS:\s+(\d+) kB', f.read()).group(1)) / 1024
    except (OSError, AttributeError):
        return None


def has_child(pid):
    """Does the recorded program still run? What comes then, once, is the trace's tables."""
    try:
        with open('/proc/%d/task/%d/children' % (pid, pid)) as f:
            return bool(f.read().strip())
    except OSError:
        return False


@functools.cache
def minute():
    """A program that never pauses, recorded for SUSTAINED seconds."""
    need(VERBATIM, 'verbatim')
    need(SOFT, 'software device')
    path, memory = scratch('minute.db'), []
    length = int(os.environ.get('SUSTAINED', '60'))
    recorder = subprocess.Popen([VERBATIM, 'record', '-q', '--device', 'soft', '-o', path, '--',
                                 program('stream'), str(length)], stdout=subprocess.PIPE)
    while recorder.poll() is None:
        time.sleep(length / 60)
        if has_child(recorder.pid):
            memory.append(resident(recorder.pid))
    memory = [m for m in memory if m]
    if recorder.returncode:
        raise Missing('failed: status %d' % recorder.returncode)
    requests = int(recorder.stdout.read())
    db = sqlite3.connect('file:%s?mode=ro' % path, uri=True)
    lost = db.execute('SELECT sum(events) FROM loss').fetchone()[0]
    begin, end = db.execute('SELECT min(begin), max(end) FROM chunk').fetchone()
    db.close()
    os.remove(path)
    if lost:
        raise Missing('%d events were lost' % lost)
    quarter = len(memory) // 4 + 1
    # a request and its completion
    return {'rate': [2 * requests / (end - begin) * 1e3],
            'growth': [max(memory[-quarter:]) - max(memory[:quarter])], 'memory': [max(memory)]}


# stages of a replay, and the functions that are them, with all that they call; then those whose
# rest is a stage
STAGES = {
    'decode': ['read_all'],
    'order': ['order_next'],
    'write': ['bytecode_put_step'],
    'read': ['player_code_next'],
    'post': ['soft_post_send', 'soft_post_recv'],
    'poll': ['soft_poll_cq', 'poll_some'], # which is jumped to
    'translate': ['fast_post', 'posts_replay'],
    'compare': ['fast_poll', 'expect_poll'],
}


def replay_times(path, *options):
    """Seconds of one replay: compiled, replayed."""
    done = subprocess.run([VERBATIM, 'replay', '--pace', 'asap', '--device', 'soft', '--format',
                           'json', *options, path], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise Missing('failed: ' + (done.stderr.strip().splitlines() or ['?'])[-1][:60])
    return json.loads(done.stdout)['seconds']


def replay_costs_once(path, events, to):
    run(['perf', 'record', '-q', '-o', to, '-e', 'cpu-clock', '-F', '9999', '-g', VERBATIM,
         'replay', '--threads', 'serial', '--device', 'soft', path])
    out = run(['perf', 'report', '-i', to, '--stdio', '--children', '-g', 'none', '--sort',
               'sym']).stdout
    total = int(re.search(r'Event count \(approx.\): (\d+)', out)[1])
    share = {name: float(part) / 100 for part, name in
             re.findall(r'^ *([\d.]+)% +[\d.]+% +\[.\] (\w+)', out, re.M)}
    costs = {stage: total / events * sum(share.get(name, 0) for name in names)
             for stage, names in STAGES.items()}
    costs['translate'] -= costs['post']
    costs['compare'] -= costs['poll']
    return costs


@functools.cache
def replay_costs():
    """Samples of processor ns an event by stage, of a replay in one thread, by sampling."""
    if not shutil.which('perf'):
        raise Missing('perf not installed')
    path, events, _, _ = recorded('ib_send_lat')
    return [replay_costs_once(path, events, scratch('replay.perf')) for _ in range(ROUNDS)]


def seconds(argv, accept=(0,)):
    """How long it runs; `accept` are the statuses that are not failures."""
    start = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    if done.returncode not in accept:
        raise Missing('failed: ' + (done.stderr.strip().splitlines() or ['?'])[-1][:60])
    return time.monotonic() - start


def ratio(a, b):
    """The ratio of samples taken in turn; that of medians where their numbers differ."""
    if len(a) == len(b):
        return [x / y for x, y in zip(a, b)]
    middle = statistics.median(b)
    return [x / middle for x in a]
