"""Reads the metrics of verbatim stat with the parser of Prometheus' own client.

export_metrics.py VERBATIM TRACE MAN-PAGE COMMAND
    they are those of --format json, of the page, and COMMAND is what was recorded
"""
import collections
import json
import subprocess
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families


def run(verbatim, *args):
    return subprocess.run([verbatim, *args], check=True, capture_output=True).stdout.decode()


def same(what, got, wanted):
    if got != wanted:
        sys.exit('%s: %r instead of %r' % (what, got, wanted))


def read_page(path):
    """Families that the page lists, each below the name of its type."""
    lines = open(path).read().split('.\\" metrics\n')[1].split('\n')
    return {line.split()[2] for line in lines if line.startswith('.It Va ')}


class Metrics:
    def __init__(self, text):
        same('last line', text.endswith('\n# EOF\n'), True)
        self.families = list(text_string_to_metric_families(text))
        self.values = {}
        for family in self.families:
            if not family.documentation:
                sys.exit('%s has no help' % family.name)
            for s in family.samples:
                key = s.name, tuple(sorted(s.labels.items()))
                if key in self.values:
                    sys.exit('twice: %s' % (key,))
                self.values[key] = s.value

    def value(self, name, **labels):
        return self.values.get((name, tuple(sorted(labels.items()))))

    def where(self, name, **labels):
        """All samples of that name and, at least, these labels."""
        return {key[1]: value for key, value in self.values.items()
                if key[0] == name and labels.items() <= dict(key[1]).items()}

    def total(self, name, **labels):
        return sum(self.where(name, **labels).values())


def compare_run(m, stat):
    summary, posting = stat['summary'], stat['posting']
    for name, wanted in [
            ('events_total', summary['events']), ('lost_events_total', summary['lost']),
            ('overwritten_events_total', summary['overwritten']),
            ('verbs_total', summary['verbs']),
            ('completions_total', summary['completions']),
            ('completion_errors_total', summary['errors']),
            ('completions_flushed_total', summary['flushed']),
            ('sent_bytes_total', summary['sent_bytes']),
            ('received_bytes_total', summary['received_bytes']),
            ('polls_total', posting['polls']), ('polls_empty_total', posting['empty_polls']),
            ('sampled_one_of', stat['one_of'])]:
        same(name, m.value('verbatim_' + name), wanted)
    same('duration', round(m.value('verbatim_duration_seconds') * 1e9), summary['duration_ns'])
    for side in 'send', 'receive':
        for name, wanted in [('posts', 'posts'), ('posts_refused', 'refused'),
                             ('posted_requests', 'requests'), ('posted_bytes', 'bytes'),
                             ('requests_signalled', 'signalled'),
                             ('requests_fit_and_inline', 'fit_and_inline')]:
            same(name, m.value('verbatim_%s_total' % name, side=side), posting[side][wanted])


def compare_latencies(m, stat):
    """Buckets count what the classes of the histogram do, which end where they do."""
    timed = 0
    for row in stat['requests']:
        labels = {'opcode': row['opcode'], 'size_most': str(row['size_end'])}
        same(labels, m.value('verbatim_requests_completed_total', **labels), row['completed'])
        if not row['timed']:
            continue
        timed += row['timed']
        name = 'verbatim_request_latency_seconds'
        same(name, m.value(name + '_count', **labels), row['timed'])
        buckets = {dict(k)['le']: v for k, v in m.where(name + '_bucket', **labels).items()}
        same('buckets', len(buckets), 28)
        same('+Inf', buckets.pop('+Inf'), row['timed'])
        for le, n in buckets.items():
            ns = round(float(le) * 1e9)
            same(le, n, sum(c for _, to, c in row['latency'] if to <= ns))
    same('latencies', m.total('verbatim_request_latency_seconds_count'), timed)
    return timed


def compare_rows(m, stat):
    counts = collections.Counter()
    for queue in stat['queues']:
        labels = {'queue': queue['queue'], 'process': str(queue['process'])}
        for side, json_side, high in [('send', 'sends', 'sq_high'),
                                      ('receive', 'receives', 'rq_high')]:
            same(labels, m.total('verbatim_queue_requests_total', side=side, **labels),
                 queue[json_side])
            same(labels, list(m.where('verbatim_queue_high', side=side, **labels).values()),
                 [] if queue[high] is None else [queue[high]])
            empty = queue[high.replace('high', 'empty_ns')]
            value = m.total('verbatim_queue_empty_seconds_total', side=side, **labels)
            same(labels, round(value * 1e9), max(0, empty or 0))
        p50 = [v for k, v in m.where('verbatim_queue_latency_seconds', **labels).items()
               if dict(k)['quantile'] == '0.5']
        same(labels, [round(v * 1e9) for v in p50], [queue['p50_ns']] if queue['p50_ns'] else [])
        counts['queues'] += 1
    for verb in stat['verbs']:
        same(verb, m.value('verbatim_verb_calls_total', verb=verb['verb']), verb['calls'])
        same(verb, m.value('verbatim_verb_errors_total', verb=verb['verb']), verb['errors'])
        total = m.value('verbatim_verb_seconds_sum', verb=verb['verb'])
        same(verb, total and round(total * 1e9), verb['total_ns'])
        counts['verbs'] += 1
    same('places', m.total('verbatim_place_calls_total'),
         sum(place['calls'] for place in stat['places']))
    for thread in stat['threads']:
        same(thread, m.value('verbatim_thread_calls_total', thread=str(thread['thread']),
                             process=str(thread['process'])), thread['calls'])
    for name, wanted in [('messages', 'messages'), ('seconds', 'total_ns')]:
        value = m.total('verbatim_queue_starved_%s_total' % name)
        same(name, round(value * (1e9 if name == 'seconds' else 1)), stat['starved'][wanted])
    same('poll gaps', m.total('verbatim_cq_poll_gap_seconds_count'),
         sum(n for _, _, n in stat['posting']['poll_gap_ns'] or []))
    for cq in stat['completion_queues']:
        same(cq, m.total('verbatim_cq_completions_total', cq=cq['cq'], process=str(cq['process'])),
             cq['completions'])
    return counts


def unescape(text):
    return text.replace('\\x0a', '\n').replace('\\x1b', '\x1b')


def main():
    verbatim, trace, page, command = sys.argv[1:]
    m = Metrics(run(verbatim, 'stat', '-f', 'openmetrics', trace))
    stat = json.loads(run(verbatim, 'stat', '-f', 'json', trace))
    same('page', read_page(page), {family.name for family in m.families})
    [labels] = m.where('verbatim_recording_info')
    same('command', unescape(dict(labels)['command']), command)
    compare_run(m, stat)
    timed, counts = compare_latencies(m, stat), compare_rows(m, stat)
    print(timed, counts['queues'], counts['verbs'])


main()
