"""The pyverbs suite of rdma-core, each test with a limit of time.

usage: pyverbs.py NAME WANTED VARIABLE=VALUE... [PART...]

Runs the tests of /usr/share/doc/rdma-core/tests (package rdma-core) whose names hold a PART with
the VARIABLEs set, and prints a line for each: ok, not ok with the reason, or skip with the reason.
WANTED tests must pass.

A worker process runs one test after the other and tells how each ended. It is killed when one
takes longer than PYVERBS_SECONDS (120), and a new one goes on with the next: so a test that hangs
or crashes costs itself only. Its start has no limit of its own, but that of the list: importing the
suite takes an emulated machine minutes.
"""
import gzip
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile

SUITE = '/usr/share/doc/rdma-core/tests'
LIMIT = float(os.environ.get('PYVERBS_SECONDS', 120))  # for one test

# Reads one name a line; replies with a line of JSON on descriptor 3.
WORKER = r'''
import io, json, multiprocessing, os, sys, unittest
multiprocessing.set_start_method('fork') # the default before Python 3.14
answers = os.fdopen(3, 'w')
sys.path.insert(0, os.path.join(sys.argv.pop(1), 'tests'))
sys.path.insert(0, os.path.dirname(sys.path[0]))
from args_parser import parser
from importlib.machinery import SourceFileLoader
tests = SourceFileLoader('tests', os.path.join(sys.path[1], '__init__.py')).load_module()
parser.parse_args()

def answer(**what):
    answers.write(json.dumps(what) + '\n')
    answers.flush()

def cases(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            yield from cases(t)
        else:
            yield t

found = {}
for module in tests.__test_modules__:
    for t in cases(unittest.defaultTestLoader.loadTestsFromModule(module)):
        found[t.id()] = t
answer(names=list(found))
for line in sys.stdin:
    result = unittest.TestResult()
    result.failfast = True
    found[line.strip()].run(result)
    bad = result.errors + result.failures
    if bad:
        answer(outcome='not ok', why=bad[0][1].strip().splitlines()[-1], text=bad[0][1])
    elif result.skipped:
        answer(outcome='skip', why=result.skipped[0][1])
    else:
        answer(outcome='ok', why='')
'''


class Worker:
    """One process that runs tests; None is its answer when it dies or takes too long."""

    def __init__(self, folder, variables):
        self.hung = False
        self.heard = 0
        read, write = os.pipe()
        env = dict(os.environ, **variables)
        self.log = open(os.path.join(folder, 'log'), 'w+')
        self.process = subprocess.Popen(
            ['/usr/bin/python3', '-c', WORKER, folder], stdin=subprocess.PIPE, stdout=self.log,
            stderr=self.log, env=env, text=True, start_new_session=True,
            preexec_fn=lambda: os.dup2(write, 3, True), close_fds=False)
        os.close(write)
        self.answers = os.fdopen(read)
        self.names = (self.answer(None) or {'names': []})['names']

    def answer(self, seconds=LIMIT):
        if not select.select([self.answers], [], [], seconds)[0]:
            self.process.kill()
            self.hung = True
            return None
        line = self.answers.readline()
        return json.loads(line) if line else None

    def said(self):
        """What it and the processes of its tests have printed since this was asked before."""
        self.log.seek(self.heard)
        text = self.log.read()
        self.heard += len(text.encode())
        return text

    def run(self, name):
        self.process.stdin.write(name + '\n')
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        """How it ended, in words."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.hung = True
        # ends the processes that it started, too
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        status = self.process.wait()
        said = self.said().strip().splitlines()[-1:]
        how = 'no end after %g s' % LIMIT if self.hung else 'died with status %d' % status
        return ' '.join([how] + said)


def unpack(folder):
    tests = os.path.join(folder, 'tests')
    os.mkdir(tests)
    for name in os.listdir(SUITE):
        path = os.path.join(SUITE, name)
        if name.endswith('.gz'):
            with gzip.open(path) as packed, open(os.path.join(tests, name[:-3]), 'wb') as out:
                shutil.copyfileobj(packed, out)
        elif os.path.isfile(path):
            shutil.copy(path, tests)
    be_patient(os.path.join(tests, 'base.py'))


def be_patient(base):
    """The two processes of a test of librdmacm meet within 15 s, and are killed after 30: too soon
    on a machine with hundreds of busy threads."""
    with open(base) as file:
        text = file.read()
    with open(base, 'w') as file:
        file.write(text.replace('NUM_OF_PROCESSES, timeout=15)', 'NUM_OF_PROCESSES, timeout=60)')
                   .replace('repeat_times=150 if', 'repeat_times=450 if'))


def run_all(folder, title, variables, parts):
    worker = Worker(folder, variables)
    if not worker.names:
        sys.exit('pyverbs: the suite does not start: ' + worker.end())
    names = [n for n in worker.names if not parts or any(p in n for p in parts)]
    count = {'ok': 0, 'not ok': 0, 'skip': 0}
    for name in names:
        got = worker.run(name)
        if not got:
            got = {'outcome': 'not ok', 'why': worker.end()}
            worker = Worker(folder, variables)
        count[got['outcome']] += 1
        why = ' '.join(got['why'].split())
        print('%s %s: %s%s' % (got['outcome'], title, name, ': ' + why if why else ''), flush=True)
        if 'text' in got:
            print(got['text'] + worker.said(), flush=True)
    worker.end()
    return count, len(names)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    title, wanted = sys.argv[1], int(sys.argv[2])
    variables = dict(a.split('=', 1) for a in sys.argv[3:] if '=' in a)
    parts = [a for a in sys.argv[3:] if '=' not in a]
    folder = tempfile.mkdtemp()
    try:
        unpack(folder)
        count, total = run_all(folder, title, variables, parts)
    finally:
        shutil.rmtree(folder)
    print('%s: %d tests: %d passed, %d failed, %d skipped' %
          (title, total, count['ok'], count['not ok'], count['skip']))
    if not parts:
        print('%s %s: %d tests of %d pass, %d are wanted' %
              ('ok' if count['ok'] >= wanted else 'not ok', title, count['ok'], total, wanted))


if __name__ == '__main__':
    main()
