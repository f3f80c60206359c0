"""The questions of docs/TRACE-FORMAT.md, asked of ClickHouse and of each trace: same answers?

questions.py VERBATIM PORT TRACE...
"""
import json
import os
import subprocess
import sys

verbatim, port, *traces = sys.argv[1:]

# name; what `verbatim sql` is asked; what ClickHouse is asked, which has the trace first
QUESTIONS = (
    ('statuses by queue pair',
     'SELECT name(qp), status_name, count(*) FROM wc GROUP BY qp, status',
     '''SELECT trace, name, status_name, c FROM
        (SELECT trace, qp AS object, status_name, count() AS c FROM completions
         GROUP BY trace, qp, status_name)
        GLOBAL ALL LEFT JOIN (SELECT trace, object, name FROM qps) USING trace, object'''),
    ('control verbs while posting',
     '''SELECT verb, count(*), sum(duration) FROM calls JOIN posting USING (thread)
        WHERE depth = 0 AND begin BETWEEN first AND last GROUP BY verb''',
     '''SELECT trace, verb, count(), sum(duration) FROM
        (SELECT trace, thread, verb, duration, begin FROM calls WHERE depth = 0)
        GLOBAL ALL INNER JOIN (SELECT trace, thread, min(time) AS first, max(time) AS last
         FROM requests GROUP BY trace, thread) USING trace, thread
        WHERE begin >= first AND begin <= last GROUP BY trace, verb'''),
    ('percentiles by opcode and size',
     '''SELECT opcode_name, bytes, count(*), median(latency), percentile(latency, 99)
        FROM requests WHERE side = 'send' AND status = 0 GROUP BY opcode, bytes''',
     '''SELECT trace, opcode_name, bytes, n,
        a[toUInt64(floor(m)) + 1] * (1 - m + floor(m)) +
         a[least(toUInt64(floor(m)) + 2, n)] * (m - floor(m)),
        a[toUInt64(floor(p)) + 1] * (1 - p + floor(p)) +
         a[least(toUInt64(floor(p)) + 2, n)] * (p - floor(p)) FROM
        (SELECT trace, opcode_name, bytes, count() AS n, (n - 1) * 0.5 AS m, (n - 1) * 0.99 AS p,
         arraySort(groupArray(assumeNotNull(latency))) AS a FROM requests
         WHERE side = 'send' AND status = 0 GROUP BY trace, opcode_name, bytes)'''),
    ('peers',
     'SELECT process, name, peer_process, peer_name FROM peers',
     '''SELECT trace, process, name, peer_process, peer_name FROM qps
        WHERE isNotNull(peer)'''),
    ('outstanding depth over time', # where each request has its own completion, or a later one's
     '''SELECT event, depth FROM queue_depth WHERE side = 'send' AND name = 'qp1'
        AND process = 1 AND event IN (SELECT event FROM requests UNION
        SELECT retired_by FROM requests) AND NOT EXISTS (SELECT 1 FROM requests
        WHERE side = 'send' AND (completed IS NULL OR outcome = 'refused'))''',
     '''SELECT trace, event, depth FROM
        (SELECT trace, arraySort(groupArray((time, thread, n, event, change))) AS all,
         arrayMap(x -> x.4, all) AS events, arrayCumSum(arrayMap(x -> x.5, all)) AS depths
         FROM (SELECT trace, ifNull(time, 0) AS time, ifNull(thread, 0) AS thread,
          ifNull(n, 0) AS n, ifNull(event, '') AS event, toInt64(count()) AS change FROM requests
          WHERE side = 'send' AND name = 'qp1' AND process = 1
          GROUP BY trace, time, thread, n, event
          UNION ALL SELECT trace, ifNull(completed, 0), ifNull(retired_thread, 0),
          ifNull(retired_n, 0), ifNull(retired_by, ''), -toInt64(count()) FROM requests
          WHERE side = 'send' AND name = 'qp1' AND process = 1
          GROUP BY trace, completed, retired_thread, retired_n, retired_by) GROUP BY trace)
        ARRAY JOIN events AS event, depths AS depth
        WHERE trace NOT IN (SELECT trace FROM requests
         WHERE side = 'send' AND (isNull(completed) OR outcome = 'refused'))'''),
    ('bytes registered over time',
     '''SELECT time, max(bytes) FROM (SELECT time, sum(change) OVER (ORDER BY time) AS bytes
        FROM (SELECT since AS time, length AS change FROM mrs
        UNION ALL SELECT until, -length FROM mrs) WHERE time > 0) GROUP BY time''',
     '''SELECT trace, time, bytes FROM (SELECT trace, arraySort(groupArray((t, c))) AS all,
         arrayMap(x -> x.1, all) AS times, arrayCumSum(arrayMap(x -> x.2, all)) AS sums
         FROM (SELECT trace, t, sum(c) AS c FROM
          (SELECT trace, ifNull(since, 0) AS t, ifNull(length, 0) AS c FROM mrs
           UNION ALL SELECT trace, ifNull(until, 0), -ifNull(length, 0) FROM mrs)
          WHERE t > 0 GROUP BY trace, t) GROUP BY trace)
        ARRAY JOIN times AS time, sums AS bytes'''),
    ('slow control verbs',
     'SELECT event, verb, name, duration FROM calls ORDER BY duration DESC, event LIMIT 10',
     '''SELECT trace, event, verb, name, duration FROM calls
        ORDER BY duration DESC, event LIMIT 10 BY trace'''),
    ('share inline, share signalled',
     "SELECT avg(is_inline), avg(is_signaled) FROM requests WHERE side = 'send'",
     '''SELECT trace, avg(is_inline), avg(is_signaled) FROM requests WHERE side = 'send'
        GROUP BY trace'''),
    ('rate over time',
     '''SELECT time / 1000000000 AS second, count(*), sum(bytes) FROM requests
        WHERE outcome <> 'refused' GROUP BY second''',
     '''SELECT trace, intDiv(time, 1000000000) AS second, count(), sum(bytes) FROM requests
        WHERE outcome <> 'refused' GROUP BY trace, second'''),
    ('region of a key at a time',
     '''SELECT process, name, length FROM mrs WHERE lkey = (SELECT min(lkey) FROM mrs)
        AND (SELECT min(since) FROM mrs) BETWEEN since AND ifnull(until, 1 << 62)''',
     '''SELECT trace, process, name, length FROM
        (SELECT trace, process, name, length, lkey, since, until FROM mrs)
        GLOBAL ALL INNER JOIN (SELECT trace, min(lkey) AS key, min(since) AS t FROM mrs
         GROUP BY trace) USING trace
        WHERE lkey = key AND t >= since AND (isNull(until) OR t <= until)'''),
    ('functions in the stack of an event',
     'SELECT event, stack(stack) FROM calls WHERE stack ORDER BY event LIMIT 1',
     '''SELECT trace, event, functions FROM (SELECT trace, event, stack FROM calls
         WHERE stack > 0 ORDER BY event LIMIT 1 BY trace)
        GLOBAL ALL INNER JOIN (SELECT trace, stack, functions FROM stacks) USING trace, stack'''),
    ('requests that never completed',
     '''SELECT event, name, opcode_name, outcome FROM requests
        WHERE completed IS NULL AND outcome <> 'refused' ''',
     '''SELECT trace, event, name, opcode_name, outcome FROM requests
        WHERE isNull(completed) AND outcome <> 'refused' '''),
)


def text(value):
    if value is None:
        return '\\N'
    try:
        return '%.9g' % value if isinstance(value, float) else str(int(value))
    except ValueError:
        pass
    try:
        return '%.9g' % float(value)
    except ValueError:
        return value


def ask_traces():
    """The rows of each question, of all traces."""
    answers = [[] for _ in QUESTIONS]
    queries = ';'.join(query for _, query, _ in QUESTIONS)
    for trace in traces:
        out = subprocess.run([verbatim, 'sql', '--json', trace, queries], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
        at = 0
        for rows in answers:
            found, at = json.JSONDecoder().raw_decode(out, at)
            at += 1  # a newline
            rows += [(os.path.basename(trace), *map(text, row.values())) for row in found]
    return answers


def ask_servers(query):
    out = subprocess.run(['clickhouse-client', '--port', port, '--query', query], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    for line in out.splitlines():
        yield tuple(map(text, line.split('\t')))


failed = 0
for (name, _, query), answer in zip(QUESTIONS, ask_traces()):
    wanted, got = sorted(answer), sorted(ask_servers(query))
    if not wanted or got != wanted:
        failed = 1
        print(f'{name}: {got[:3]}, {len(got)} rows, instead of {wanted[:3]}, {len(wanted)}')
sys.exit(failed)
