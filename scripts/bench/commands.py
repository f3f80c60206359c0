"""What commands that read a trace cost: time by the event, and memory.

Each runs on a trace and on the first tenth of it, in turn. The difference of their processor times
is that of the other events, without what a start takes; the difference of their memory shows
whether that depends on the length of a trace.
"""
import functools
import json
import os

import measure

# {trace}, and {out}, the file that the command writes
COMMANDS = {
    'check': ['check', '{trace}'],
    'stat': ['stat', '{trace}'],
    'dump': ['dump', '{trace}'],
    'dump_json': ['dump', '--json', '{trace}'],
    'export_perfetto': ['export', '-f', 'perfetto', '{trace}'],
    'export_folded': ['export', '-f', 'folded', '{trace}'],
    'report': ['report', '-o', '{out}.html', '{trace}'],
    'emit': ['emit', '-o', '{out}.c', '{trace}'],
    'trim': ['trim', '--only', 'process=1', '-o', '{out}.db', '{trace}'],
    'merge': ['merge', '-o', '{out}.db', '{trace}', '{other}'],
    'unpack': ['unpack', '-o', '{out}.db', '{trace}'],
}


def events_of(path):
    info = measure.run([measure.VERBATIM, 'info', '--json', path])
    return json.loads(info.stdout)['trace']['events']


@functools.cache
def traces():
    """A trace and its first tenth, each with its events."""
    path, events, _, _ = measure.recorded('ib_send_lat')
    part = measure.scratch('tenth.db')
    end = '1:%d' % (events // 20)  # of two threads with as many events
    measure.run([measure.VERBATIM, 'trim', '--to', end, '-o', part, path])
    return (path, events_of(path)), (part, events_of(part))


@functools.cache
def other():
    """The trace of another recording, to merge with: a short one."""
    path = measure.scratch('other.db')
    argv = [measure.program('control'), '100']
    measure.run([measure.VERBATIM, 'record', '-q', '--device', 'soft', '-o', path, '--'] + argv)
    return path


def use(name, path):
    """The processor seconds and the MB of one run."""
    out = measure.scratch('out')
    for end in ('', '.c', '.db', '.html'):
        if os.path.exists(out + end):
            os.remove(out + end)
    argv = [word.format(trace=path, out=out, other=other() if '{other}' in word else '')
            for word in COMMANDS[name]]
    used = measure.used_by([measure.VERBATIM] + argv)
    return used['cpu'][0], used['memory'][0]


@functools.cache
def costs(name):
    rows = {'ns': [], 'memory': [], 'growth': []}
    (path, events), (part, some) = traces()
    for _ in range(measure.ROUNDS):
        seconds, memory = use(name, path)
        fewer, less = use(name, part)
        rows['ns'].append((seconds - fewer) * 1e9 / (events - some))
        rows['memory'].append(memory)
        rows['growth'].append(memory - less)
    return rows


def cost(name, what):
    return lambda: costs(name)[what]
