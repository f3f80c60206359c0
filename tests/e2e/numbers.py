"""One number is one number: compare what all commands print of a trace.

	numbers.py TRACE [LAST_LINE [TOP]]

LAST_LINE: a file with the last line of `record`; TOP: one with the samples of `top --format json`.
Prints each number of which two commands have different values, and its values. The numbers are
those of docs/GLOSSARY.md.
"""
import collections
import json
import os
import re
import subprocess
import sys

VERBATIM = os.environ['VERBATIM']
DATA = re.compile(r'_post_\w*(send|recv)|_(poll|req_notify|wr)_|_(start|next|end)_poll')
POLLS = re.compile('_(start|next)_poll|_poll_cq')


def run(*words):
    return subprocess.run([VERBATIM, *words], capture_output=True, text=True, check=False).stdout


def scaled(value, apart, units):
    """Three figures, as core/base/span.c writes them."""
    unit = 0
    while value >= apart - 0.5 and unit + 1 < len(units):
        value, unit = value / apart, unit + 1
    return '%.*f %s' % (0 if not unit or value >= 99.95 else 1 if value >= 9.995 else 2, value,
                        units[unit])


def span(ns):
    return scaled(ns, 1000, ['ns', 'us', 'ms', 's'])


def size(value):
    """A whole number of the largest unit has no digits behind the point."""
    units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
    whole, unit = value, 0
    while whole and whole % 1024 == 0 and unit + 1 < len(units):
        whole, unit = whole // 1024, unit + 1
    return '%d %s' % (whole, units[unit]) if whole < 1024 else scaled(value, 1024, units)


class Numbers:
    def __init__(self):
        self.all = collections.defaultdict(dict)

    def put(self, source, **values):
        for name, value in values.items():
            self.all[name][source] = value

    def put_text(self, source, text, pattern, *names):
        found = re.search(pattern, text, re.M)
        if not found:
            raise SystemExit(f'{source} lacks {pattern}: {text[:300]}')
        for name, value in zip(names, found.groups()):
            is_text = name in ('duration', 'registered_bytes')
            self.put(source, **{name: value if is_text else int((value or '0').replace(',', ''))})

    def differences(self):
        return [f'{name}: ' + ', '.join(f'{value} ({source})' for source, value in its.items())
                for name, its in self.all.items() if len(set(its.values())) > 1]


def put_info(n, trace):
    n.put_text('info', run('info', trace),
               r'^recorded .*?, ([\d.]+ [mun]?s), by(?:.*\n)*?events +([\d,]+), and ([\d,]+) lost',
               'duration', 'events', 'lost')
    info = json.loads(run('info', '-f', 'json', trace))
    head, verbs = info['trace'], info['control_verbs']
    regions = [o for o in info['objects'] if o['kind'] == 'mr'] or [collections.Counter()]
    n.put('info json', duration_ns=head['duration_ns'], duration=span(head['duration_ns']),
          events=head['events'], lost=head['lost'], overwritten=head['overwritten'],
          processes=len(info['processes']), threads=len(info['threads']),
          calls=sum(v['calls'] for v in verbs), failed_calls=sum(v['failed'] for v in verbs),
          unfinished=sum(v['unfinished'] for v in verbs), registered=regions[0]['made'],
          alive_at_the_end=regions[0]['alive_at_the_end'])
    # counted by the recorder, also where events are missing, and not estimated
    if not head['overwritten'] and not head['lost'] and not head['filter']:
        queues = info['completion_queues']
        n.put('info json', completions=sum(q['completions'] for q in queues),
              poll_calls=sum(q['poll_calls'] for q in queues))


def put_check(n, trace):
    n.put_text('check', run('check', trace), r': (?:([\d,]+) process\w*, )?([\d.]+ [mun]?s)'
               r'(?:,\s+([\d,]+)\s+events?)?(?:,\s+([\d,]+)\s+overwritten)?,\s+([\d,]+)\s+lost',
               'processes', 'duration', 'events', 'overwritten', 'lost')
    check = json.loads(run('check', '-f', 'json', trace))
    for name in ('duration_ns', 'processes', 'threads', 'events', 'lost', 'overwritten', 'verbs',
                 'failed', 'unfinished', 'completions', 'completions_in_error', 'flushed'):
        n.put('check json', **{name: check[name]})


def put_stat(n, trace):
    text = run('stat', trace)
    n.put_text('stat', text, r'^(\d+) process\w*, (\d+) threads?, \d+ queues?, ([\d,]+) events?, '
               r'([\d,]+) lost, ([\d,]+) verbs?, (.*)$',
               'processes', 'threads', 'events', 'lost', 'verbs', 'duration')
    stat = json.loads(run('stat', '-f', 'json', trace))
    s, verbs = stat['summary'], stat['verbs']
    for name in ('duration_ns', 'processes', 'threads', 'events', 'lost', 'overwritten', 'verbs',
                 'failed', 'unfinished', 'flushed', 'registered'):
        n.put('stat json', **{name: s[name]})
    n.put('stat json', alive_at_the_end=s['regions_alive'],
          registered_bytes=size(s['registered_bytes']))
    if s['registered']:
        n.put_text('stat', text,
                   r'^registered ([\d,]+) regions?, ([^,]*), ([\d,]+) alive at the end',
                   'registered', 'registered_bytes', 'alive_at_the_end')
    if s['errors']:
        n.put_text('stat', text, r'^errors +([\d,]+) completions? in error, ([\d,]+) of them f',
                   'completions_in_error', 'flushed')
    control = [v for v in verbs if not DATA.search(v['verb'])]
    n.put('stat json', calls=sum(v['calls'] for v in control),
          failed_calls=sum(v['errors'] for v in control), completions_in_error=s['errors'])
    # of a sample these are estimates
    if stat['one_of'] < 2:
        n.put('stat json', completions=s['completions'],
              poll_calls=sum(v['calls'] for v in verbs if POLLS.search(v['verb'])))
    sums = {name: sum(p[name] for p in stat['processes'])
            for name in ('completions', 'errors', 'sent_bytes', 'received_bytes')}
    n.put('stat json, by process', completions_of_stat=sums['completions'],
          completions_in_error=sums['errors'], sent=sums['sent_bytes'],
          received=sums['received_bytes'])
    n.put('stat json', completions_of_stat=s['completions'], sent=s['sent_bytes'],
          received=s['received_bytes'], sends=stat['posting']['send']['requests'],
          receives=stat['posting']['receive']['requests'])


def put_metrics(n, trace):
    text = run('stat', '-f', 'openmetrics', trace)
    for name, metric in (('events', 'events'), ('lost', 'lost_events'), ('verbs', 'verbs'),
                         ('overwritten', 'overwritten_events'),
                         ('completions_in_error', 'completion_errors')):
        n.put_text('metrics', text, rf'^verbatim_{metric}_total (\d+)', name)
    seconds = re.search(r'^verbatim_duration_seconds (\S+)', text, re.M)
    n.put('metrics', duration_ns=round(float(seconds[1]) * 1e9))


def put_top(n, path):
    with open(path, encoding='utf-8') as samples:
        top = json.loads(samples.readlines()[-1])
    if top['phase'] != 'ended':
        raise SystemExit(f'the last sample of top: {top["phase"]}')
    data = top['all']['data']
    n.put('top', duration_ns=top['time_ns'], events=top['events'], lost=top['lost'],
          processes=top['processes'], threads=top['threads'], calls=top['all']['calls'],
          failed_calls=top['all']['failed_calls'], completions=data['completions'],
          completions_in_error=data['errors'], flushed=top['all']['flushed'],
          sent=data['sent_bytes'], received=data['received_bytes'], sends=data['requests'],
          receives=data['receives'], registered=top['all']['registered'])


def main(trace, last_line=None, top=None):
    n = Numbers()
    for put in put_info, put_check, put_stat, put_metrics:
        put(n, trace)
    if last_line:
        with open(last_line, encoding='utf-8') as lines:
            n.put_text('record', lines.read(), r': (\d+) process\w*, ([\d,]+) events?, ([\d,]+) '
                       r'lost, [^,]*, (.*)$', 'processes', 'events', 'lost', 'duration')
    if top:
        put_top(n, top)
    differences = n.differences()
    for line in differences:
        print(f'{trace}: {line}')
    return bool(differences)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
