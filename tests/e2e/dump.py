"""Compares what `verbatim dump` prints of a trace as text and as JSON.

dump.py VERBATIM TRACE
    each word and number of a line of text is in its JSON object, under the same name; durations
    are the same to the digits that the text has
"""
import json
import os
import re
import subprocess
import sys

# the text around values
PROSE = set('''of after it by is in bad_wr empty more flushed never returned deregistered
    before NULL process pid has ended exit killed signal child called no verb new program from
    here on runs a shell the recorder s own registered memory to byte bytes hash inner payload
    batch status thread begin end failed qp_num tm_info n u peer lkey'''.split())
# core/wire/data.list: the name in the text, the name of the member
LABELS = {'mw': 'bind_mw', 'mr': 'bind_mr', 'mw_access_flags': 'bind_access', 'addr': 'bind_addr',
          'length': 'bind_length', 'hdr': 'tso_hdr', 'hdr_sz': 'tso_hdr_sz', 'mss': 'tso_mss',
          'type': 'flush_type', 'level': 'flush_level', 'rkey': 'bind_rkey', 'tag': 'tm_tag',
          'priv': 'tm_priv', 'completion_ts': 'timestamp', 'completion_wallclock_ns': 'wallclock'}
WORD = r'\w+(?:\.\w+)?'
problems = []


def run(verbatim, *args):
    out = subprocess.run([verbatim, 'dump', *args], capture_output=True, text=True)
    if out.returncode:
        sys.exit('dump %s: status %d' % (' '.join(args), out.returncode))
    return out.stdout.splitlines()


def collect(value, words, times):
    """All names and values of a JSON value, as the text may have them."""
    if isinstance(value, dict):
        for name, each in value.items():
            words.add(name)
            if name.endswith('_ns'):
                times.append(each)
            if name == 'errno':
                words.update(re.findall(WORD, os.strerror(each)))
            collect(each, words, times)
    elif isinstance(value, list):
        words.update(str(i) for i in range(len(value)))
        for each in value:
            collect(each, words, times)
    elif isinstance(value, bool) or value is None:
        pass
    elif isinstance(value, int):
        words.update((str(value), hex(value), hex(value & 2**64 - 1), str(abs(value))))
    else:
        words.update(re.findall(WORD, value))


def is_time(text, ns):
    """Is @text, "12.3 us", that many ns to the digits that it has?"""
    number, unit = text.split()
    scale = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9}[unit]
    digits = len(number.partition('.')[2])
    return abs(float(number) * scale - ns) <= 0.501 * scale / 10 ** digits


def compare(line, event):
    words, times = set(), []
    collect(event, words, times)
    seconds, name, rest = line.split(None, 2)
    if name != event['event'] or abs(float(seconds) * 1e9 - event['time_ns']) > 1:
        problems.append('%s %s is %s at %d' % (seconds, name, event['event'], event['time_ns']))
    for text in re.findall(r'<([\d.]+ (?:ns|us|ms|s))>|, ([\d.]+ (?:ns|us|ms|s)) after', rest):
        text = text[0] or text[1]
        if not any(is_time(text, ns) for ns in times):
            problems.append('%s: no time %s' % (name, text))
    rest = re.sub(r'<[\d.]+ [mun]?s>|, [\d.]+ [mun]?s after', ' ', rest)
    for word in re.findall(WORD, rest):
        if word not in words and word not in PROSE and LABELS.get(word) not in words:
            problems.append('%s: no %r in the JSON of: %s' % (name, word, line))


def main():
    verbatim, trace = sys.argv[1:]
    lines = run(verbatim, '--all', '-ky', trace)
    events = [json.loads(line) for line in run(verbatim, '--format', 'json', '-ky', trace)]
    if len(lines) != len(events):
        problems.append('%d lines, %d objects' % (len(lines), len(events)))
    if len(lines) < 20:
        problems.append('only %d lines' % len(lines))
    for line, event in zip(lines, events):
        compare(line, event)
    print('\n'.join(problems[:20]))
    sys.exit(bool(problems))


main()
