# anonymised.py VERBATIM TRACE ANONYMISED [OPTION of replay]...
#
# check, stat and replay print the same for both, with the same status, except for what an
# anonymised trace hides: names of programs and functions (from which a finding's fingerprint is
# computed), addresses of machines (equal ones must have equal substitutes); and except for its own
# name and the duration.
import json
import re
import subprocess
import sys

verbatim, *traces = sys.argv[1:4]
HIDDEN = {"trace", "fingerprint", "stack", "stacks", "polled", "where", "place", "seconds", "notes",
          "tolerated"}
ADDRESS = re.compile(r"(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}|\b(?:\d+\.){3}\d+\b|\b[0-9a-f]{32}\b")


def run(*words):
    ended = subprocess.run([verbatim, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           timeout=120, check=False)
    return ended.returncode, ended.stdout.decode()


def names(trace):
    """What its programs are called."""
    _, rows = run("sql", "--format", "jsonl", trace,
                  "SELECT DISTINCT exe, cmdline FROM process WHERE exe NOT NULL")
    paths = [row[key].split()[0] for row in map(json.loads, rows.splitlines())
             for key in ("exe", "cmdline") if row[key]]
    return sorted({path.rsplit("/", 1)[-1] for path in paths} - {""})


def plain(value, programs, addresses):
    """Addresses by the order in which they come, which is that of what printed them."""
    if isinstance(value, dict):
        return {key: plain(each, programs, addresses)
                for key, each in value.items() if key not in HIDDEN}
    if isinstance(value, list):
        return [plain(each, programs, addresses) for each in value]
    if not isinstance(value, str):
        return value
    for name in programs:
        value = value.replace(f"({name})", "(PROGRAM)")
    return ADDRESS.sub(lambda found: "ADDRESS%d" % addresses.setdefault(found[0], len(addresses)),
                       value)


def differ(path, a, b):
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return [each for key in a for each in differ(f"{path}.{key}", a[key], b[key])]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [each for i, pair in enumerate(zip(a, b)) for each in differ(f"{path}[{i}]", *pair)]
    return [] if a == b else [f"{path}: {str(a)[:200]} became {str(b)[:200]}"]


programs = [names(trace) for trace in traces]
wrong = []
for words in ["check"], ["stat"], ["replay", "--device", "soft", *sys.argv[4:]]:
    (status, was), (ended, became) = (run(*words, "--format", "json", trace) for trace in traces)
    if status != ended or status > 1:
        wrong.append(f"{words[0]}: exit status {status} became {ended}")
    elif was:
        wrong += differ(words[0], *(plain(json.loads(text), known, {})
                                    for text, known in zip((was, became), programs)))
    else:
        wrong.append(f"{words[0]}: prints nothing")
print("\n".join(wrong[:20]))
sys.exit(bool(wrong))
