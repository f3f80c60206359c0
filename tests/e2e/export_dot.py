"""Reads a graph of verbatim export back from the SVG and the JSON that graphviz makes of it.

export_dot.py VERBATIM TRACE [EVENT]
    Its nodes are the objects that the trace has then, its edges what their makers were given
"""
import json
import subprocess
import sys
import xml.etree.ElementTree

SVG = '{http://www.w3.org/2000/svg}'


def run(args, given=None):
    return subprocess.run(args, check=True, capture_output=True, input=given).stdout


def same(what, got, wanted):
    if got != wanted:
        sys.exit('%s: %r instead of %r' % (what, got, wanted))


class Trace:
    def __init__(self, verbatim, trace):
        self.command = [verbatim, 'sql', '--json', trace]

    def ask(self, query):
        return [tuple(row.values()) for row in json.loads(run(self.command + [query]))]

    def time_of(self, event):
        if event is None:
            return 2 ** 62
        thread, n = event.split(':')
        return self.ask('SELECT end FROM call WHERE thread = %s AND n = %s' % (thread, n))[0][0]

    def objects(self, time, at):
        """Those made by then, and whether they are alive."""
        fates = {}
        for i, name, gone, end in self.ask(
                'SELECT o.id, name, destroyed_at, p.end FROM object o JOIN process p'
                ' ON p.id = o.process WHERE ifnull(created_at, 0) <= %d' % time):
            fates[i] = (name, 'destroyed' if gone is not None and gone <= time else
                        'ended' if at and end is not None and end <= time else 'alive')
        return fates

    def edges(self, fates):
        named = self.ask('SELECT o.id, r.object FROM object o JOIN ref r ON r.thread ='
                         " o.created_thread AND r.n = o.created_n AND path NOT LIKE 'out.%'")
        made = self.ask('SELECT id, parent FROM object WHERE parent > 0')
        return {(a, b) for a, b in named + made if a in fates and b in fates and a != b}


def main():
    verbatim, path = sys.argv[1:3]
    event = sys.argv[3] if len(sys.argv) > 3 else None
    trace = Trace(verbatim, path)
    fates = trace.objects(trace.time_of(event), event)
    dot = run([verbatim, 'export', *(['--at', event] if event else []), path])
    read = json.loads(run(['dot', '-Tdot_json'], dot))
    nodes = {o['_gvid']: o for o in read['objects'] if 'nodes' not in o}
    got = {int(o['name'][1:]): (o['label'].split('\\n')[0], o['class']) for o in nodes.values()}
    same('objects', got, fates)
    pairs = [(int(nodes[e['tail']]['name'][1:]), int(nodes[e['head']]['name'][1:]), e)
             for e in read.get('edges', [])]
    same('edges', {(a, b) for a, b, e in pairs if e.get('label') != 'peer'}, trace.edges(fates))
    peers = sorted((a, b) for a, b, e in pairs if e.get('label') == 'peer')
    svg = xml.etree.ElementTree.fromstring(run(['dot', '-Tsvg'], dot))
    same('drawn', sum(g.get('class', '').startswith('node') for g in svg.iter(SVG + 'g')),
         len(fates))
    print(' '.join('%s-%s' % pair for pair in peers))


main()
