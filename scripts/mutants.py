"""The mutants of product code, and the order in which scripts/mutate tries them."""
import bisect
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys

ROOMS = ('core', 'shim', 'replay', 'analyzer', 'cli')
EQUIVALENT = 'tests/mutants.list'

TOKEN = re.compile(r'''
    (?P<skip> /\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
            | ^[ \t]*\#(?:[^\n]*\\\n)*[^\n]* )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<number> \d\w* (?:\.\w+)? )
  | (?P<sign> <<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=
            | [-+*/%&|^!~<>=?:;,.(){}\[\]] )
''', re.X | re.S | re.M)
OTHER_SIGN = {
    '<': ('comparison', '<='), '<=': ('comparison', '<'), '>': ('comparison', '>='),
    '>=': ('comparison', '>'), '==': ('comparison', '!='), '!=': ('comparison', '=='),
    '&&': ('condition', '||'), '||': ('condition', '&&'), '!': ('condition', ''),
    '+': ('sign', '-'), '-': ('sign', '+'), '|': ('sign', '&'), '&': ('sign', '|'),
    '+=': ('sign', '-='), '-=': ('sign', '+='), '|=': ('sign', '&='), '++': ('sign', '--'),
}
BINARY = {'+', '-', '|', '&', '<', '>'}
STATEMENT = re.compile(r'^\t+(?!return|break|continue|goto|case|default|else|static|const|struct|'
                       r'enum|union|unsigned|bool|int|char|if|for|while|do|switch)'
                       r'[a-z_*(][^;{}]*[)\w\]+-];$')
SIMPLE = r'[A-Za-z_]\w*(?:(?:->|\.)\w+)*'
ARGUMENTS = re.compile(rf'\b[a-z_]\w*\((?:[^()]*, )?({SIMPLE}), ({SIMPLE})(?=[,)])')
# effects that only sanitizers, also that of threads, a lack of memory, or warnings can show
UNSEEN = re.compile(r'^\t*\(void\)\w+;$|^\t*va_end\(|^\t*__builtin_prefetch\(|'
                    r'ENOMEM|out of memory|\b[mc]alloc\(|\brealloc\(|'
                    r'\bfailed \|= [\w.>-]+failed;$|'
                    r'^\t*(?:\w*free|fini_\w+|\w+_(?:free|fini|finalize|unref|close))\(.*\);$')
# the body of a loop that only releases memory
RELEASED = re.compile(r'^(?:\w*free|fini_\w+|\w+_(?:free|fini|unref))\(.*\);$')
LOCK = re.compile(r'^(?:pthread_mutex_lock|lock_take|\w+_lock)\(.*\);$')
# only how long a thread sleeps, or that it lets others run meanwhile
SLEEP = re.compile(r'^(?:nanosleep|usleep|sched_yield|__builtin_ia32_pause)\(.*\);$')
# equivalent to < 0: the result is 0 otherwise, too
NO_ERROR = re.compile(r'(?<![-+*/>.\w])(\w+) (?:<= 0|< 1) \? '
                      r'(?:(?:\(\w+\))?\1 : 0|0 : (?:\(\w+\))?\1)\b')
# only that a file which is soon closed would stay open in a program that is started meanwhile
INHERITED = re.compile(r'\bO_RDONLY & O_CLOEXEC\b')
# only how often something is tried that fails because of another process or thread
TRIES = re.compile(r'\b(?:\w+_)?TRIES\b')
# it does not matter which of two equal ones is taken
OPERAND = r'([\w.\->\[\]]+)'
VALUE = r'(?:sizeof\([*\w]+\)|\*?[\w.\->\[\]]+)'
SUM = rf'(?<![-+*/%&|] )(?<![\w.>\])])({VALUE}(?: [-+*/] {VALUE})*)'
EITHER = re.compile(rf'{SUM} [<>]=? {SUM} +\? +(?:\(\w+\))?(?:\1 : (?:\(\w+\))?\2|'
                    r'\2 : (?:\(\w+\))?\1)(?=[;,)\]} ]*$|[;,)\]}])')
# the difference of two equal values is 0, too
DIFFERENCE = re.compile(rf'{SUM} >=? ({VALUE}) \? (?:\(\w+\))?\(?\1 - \2\)? : 0\b')
COMPARED = re.compile(rf'(?:\(|&& |\|\| ){OPERAND} [<>]=? {OPERAND}(?=\)| &&| \|\||$)')
DIFFERENT = re.compile(rf'(?:\}} else )?if \({OPERAND} != {OPERAND}\)$')
# only releases memory, reads it early, or takes a lock
FREEING = re.compile(r'^(?:static )?void (?:free_\w+|\w+_free|prefetch_\w+|\w+_lock)\('
                     r'[^;{]*\)\n\{\n.*?^\}$', re.M | re.S)
# nor do x_fini() and x_close() do more, if they have no other statements
FINISHING = re.compile(r'^(?:static )?void (?:\w+_)?(?:fini|close)(?:_\w+)?\([^;{]*\)\n\{\n'
                       r'(.*?)^\}$', re.M | re.S)
RELEASE = re.compile(r'^\t+(?:for \(.*\)|if \(!?\w+\)|return;|(?:\w*free|\w*fini\w*)\(.*\);|'
                     r'\*\w+ = \(struct \w+\)\{ 0 \};)$')
# a longer array is not observable; all elements of one have the same size
ARRAY = re.compile(r'sizeof\([^()]*\[$|'
                   r'^\s*(?:static )?(?:const )?(?:char\b.*|(?:unsigned )?(?:int|bool|double|'
                   r'u?int\d+_t|size_t|struct \w+)\b[^=(]*)\[$')
# the same: space for a text, SIZE + 16, too little of which only the longest text would show
SPACE = re.compile(r'^\s*(?:static )?(?:const )?(?:unsigned )?char\b[^=;]*\[[^\]=]*$')
# a read of one byte too many, which sanitizers find
LAST = re.compile(r'\bp?read\((?:[^()]|\(\w*\))*(?:\bsize|\bsizeof\(\w+\)) (?:- )?$')
# main() opens descriptors 0 to 2 if they are closed: no other file of the command has these numbers
NO_STDIN = re.compile(r'\b(?:\w*(?:fds?|dir)|lock)(?:\[\w+\])? (?:<= 0|< 1|> 0|>= 1)\b')
# only tells the compiler what is likely
EXPECTED = re.compile(r'__builtin_expect\(.*, [01]\)')
OF_COMMAND = ('analyzer/', 'cli/', 'core/store/', 'replay/')
# the rest of a comparison of which only matters whether it is 0
IS_ZERO = re.compile(r'(?:, (?:[^()]|\([^()]*\))*)?\) [!=]= 0\b')
# only how much room there is: too little is found by sanitizers, and an array grows when it is full
ROOM = re.compile(rf'\b(?:vec_reserve|reallocarray)\(.*|({SIMPLE}) \? (?:2 \* \1|\1 \* 2) : \d+|'
                  rf'\.end = ({SIMPLE}) \+ sizeof\(\2\)')
# only how long a thread spins before it sleeps
SPINS = re.compile(r'\b(?:\w+_)?(?:SPINS|YIELDS)\b')
# the bound of a duration on a real clock: whether it is one nanosecond longer
CLOCK = re.compile(r'\b(?:clock_monotonic|process_now|plan_now)\(\)|\b[A-Z_]+_NS\b')
VOID_FUNCTION = re.compile(r'^(?:static )?(?:inline )?void \w+\([^;{]*\)\n\{\n', re.M)


class Mutant:
    def __init__(self, path, text, at, old, new, kind):
        self.path, self.at, self.old, self.new, self.kind = path, at, old, new, kind
        self.line = text.count('\n', 0, at) + 1
        start = text.rfind('\n', 0, at) + 1
        end = text.find('\n', at + len(old))
        self.before = text[start:end].strip()
        self.column = at - start - (len(text[start:end]) - len(text[start:end].lstrip()))
        self.line_after, self.second_after = (text[end + 1:].split('\n', 2) + [''])[:2]
        self.line_after, self.second_after = self.line_after.strip(), self.second_after.strip()
        self.line_before = text[text.rfind('\n', 0, start - 1) + 1:start].strip()
        self.after = ' '.join((text[start:at] + new + text[at + len(old):end]).split())
        self.function = text[text.rfind('\n{\n', 0, at) + 1:text.find('\n}\n', at)]

    def __str__(self):
        return f'{self.path}:{self.line}: {self.kind}\n\t- {self.before}\n\t+ {self.after}'

    def key(self):
        """The same after changes elsewhere in its file."""
        return self.path, self.before, self.after, self.column

    def shuffle(self, seed):
        """Its place among others, which depends on no other mutant: a changed line changes the
        order of no others."""
        return hashlib.sha1(repr((seed, *self.key(), self.after)).encode()).digest()

    def is_unseen(self):
        return UNSEEN.search(self.before) or \
            (NO_ERROR.search(self.after) and not NO_ERROR.search(self.before)) or \
            INHERITED.search(self.after) or \
            self.is_try_less() or \
            self.is_bound_of_equals() or \
            self.is_without_stdin() or \
            self.is_hint() or \
            self.is_room() or \
            self.is_spinning() or \
            self.is_lock_or_sleep() or \
            self.is_bound_of_time() or \
            self.is_loop_of_release() or \
            (self.before.startswith('if (') and 'ENOMEM' in self.line_after)

    def is_hint(self):
        match = EXPECTED.search(self.before)
        return match and match.end() - 2 == self.column

    def is_room(self):
        return self.kind in ('constant', 'sign') and \
            any(each.start() <= self.column < each.end() for each in ROOM.finditer(self.before))

    def is_spinning(self):
        """Does it only change the number of turns, by one or by a factor?"""
        return SPINS.search(self.before) and \
            (self.kind in ('constant', 'sign') or
             (self.kind == 'comparison' and self.new.rstrip('=') == self.old.rstrip('=')))

    def is_try_less(self):
        """Is there one try less, or more?"""
        return TRIES.search(self.before) and \
            (self.kind == 'constant' or
             (self.kind == 'comparison' and '<' in self.old and '<' in self.new))

    def is_lock_or_sleep(self):
        return self.kind == 'statement dropped' and \
            (LOCK.match(self.before) or SLEEP.match(self.before))

    def is_bound_of_time(self):
        """Is one of the compared values that of a clock, or a number of nanoseconds?"""
        if self.kind != 'comparison' or self.new.rstrip('=') != self.old.rstrip('='):
            return False
        left = re.split(r'&&|\|\||[?;,]|(?<!=)=(?!=)', self.before[:self.column])[-1]
        right = re.split(r'&&|\|\||[?;,]', self.before[self.column + len(self.old):])[0]
        return left.count('(') >= left.count(')') and (CLOCK.search(left) or CLOCK.search(right))

    def is_loop_of_release(self):
        return re.match(r'(?:for|while) \(.*\)$', self.before) and RELEASED.match(self.line_after)

    def is_without_stdin(self):
        return self.path.startswith(OF_COMMAND) and self.path != 'cli/main.c' and \
            NO_STDIN.search(self.after) and not NO_STDIN.search(self.before)

    def is_bound_of_equals(self):
        """Does the other bound make no difference, since both values are equal there?"""
        if self.kind != 'comparison' or self.new.rstrip('=') != self.old.rstrip('='):
            return False
        return any(each.start() <= self.column < each.end() for shape in (EITHER, DIFFERENCE)
                   for each in shape.finditer(self.before)) or self.is_bound_of_assigned() or \
            self.is_bound_of_different()

    def is_bound_of_different(self):
        """Are both values different here: `if (a != b)`, `return a < b ? -1 : 1;`?"""
        match = DIFFERENT.match(self.line_before)
        return match and re.search(rf'(?<![\w.>]){re.escape(match[1])} [<>]=? '
                                   rf'{re.escape(match[2])}(?!\w)', self.before)

    def is_bound_of_assigned(self):
        """Does it only decide whether one of two equal values is assigned to the other, which
        changes nothing: `if (... && a < b)`, `b = a;`?"""
        if not re.match(r'(?:\} else )?if \(.*\)$', self.before) or \
                self.second_after.startswith('else'):
            return False
        return any(match.end(1) <= self.column < match.start(2) and self.line_after in
                   (f'{match[1]} = {match[2]};', f'{match[2]} = {match[1]};')
                   for match in COMPARED.finditer(self.before))

    def apply(self, text):
        return text[:self.at] + self.new + text[self.at + len(self.old):]


class Outcome:
    """Of one mutant."""

    def __init__(self, mutant, killer=None, passed=0, left=0, units=False, seconds=0):
        self.mutant = mutant
        self.killer = killer  # the test that failed; None: it survived; '': it does not compile
        self.passed, self.left = passed, left  # numbers of tests; there was no time for some
        self.units = units and killer is None  # end-to-end tests are still to be tried
        self.seconds = seconds

    def __str__(self):
        if self.killer:
            return f'killed in {self.seconds:.0f} s by {self.killer}: {self.mutant.path}:' \
                   f'{self.mutant.line}: {self.mutant.kind}'
        left = f', no time for {self.left}' if self.left else ''
        return f'survived, {self.seconds:.0f} s, {self.passed} tests{left}: {self.mutant}'


class Log:
    """Outcomes in a file: a row of JSON each, of which the last one of a mutant counts."""

    def __init__(self, path):
        self.path, self.rows = path, {}
        if path and os.path.exists(path):
            for line in read_file(path).splitlines():
                row = json.loads(line)
                self.rows[tuple(row.pop('mutant'))] = row

    def find(self, mutant):
        row = self.rows.get(mutant.key())
        return Outcome(mutant, **row) if row else None

    def add(self, outcome):
        row = {name: value for name, value in vars(outcome).items() if name != 'mutant'}
        self.rows[outcome.mutant.key()] = row
        if self.path:
            with open(self.path, 'a') as file:
                file.write(json.dumps(dict(row, mutant=outcome.mutant.key())) + '\n')


def read_file(path):
    with open(path) as file:
        return file.read()


def hash_file(path):
    return hashlib.sha1(read_file(path).encode()).hexdigest()[:12] if os.path.exists(path) else ''


def hash_test(test):
    """The digest of its source."""
    return hash_file(re.sub(r'^build/(.*_test)$', r'\1.c', test))


def find_bodies(text):
    """The places of functions: from a brace in the first column to the next one."""
    return [match.span() for match in re.finditer(r'^\{\n.*?^\}$', text, re.M | re.S)]


def find_fences(text):
    """Tables, which clang-format does not change."""
    return [match.span() for match in
            re.finditer(r'clang-format off.*?clang-format on', text, re.S)]


def is_within(at, spans):
    """@spans are sorted, and do not overlap."""
    last = bisect.bisect_right(spans, (at, sys.maxsize)) - 1
    return last >= 0 and at < spans[last][1]


def mutate_number(number):
    match = re.fullmatch(r'(0x[0-9a-fA-F]+|0|[1-9]\d*)([uUlL]*)', number)
    if not match:
        return None
    value = int(match[1], 0)
    return f'{1 if value == 0 else 0 if value == 1 else value + 1}{match[2]}'


def is_loop(text, at):
    """Is it a loop in which one more step may exceed an array, which sanitizers find?"""
    head = text[text.rfind('\n', 0, at) + 1:at]
    rest = text[at:text.find('\n', at)]
    index = re.search(r'(\w+) $', head)
    return re.match(r'\t+for \([^;]*;[^;]*$', head) or \
        (index and re.match(r'\t+while \(', head) and f'[{index[1]}]' in rest)


def mutate_tokens(path, text, inside):
    last = None
    for token in TOKEN.finditer(text):
        kind, word, at = token.lastgroup, token.group(), token.start()
        if kind == 'skip':
            continue
        after_operand = last and (last.lastgroup in ('word', 'number') or last.group() in ')]')
        last = token
        if not inside(at):
            continue
        if kind == 'number':
            new = mutate_number(word)
            head = text[text.rfind('\n', 0, at) + 1:at]
            unseen = SPACE.search(head) or ARRAY.search(head) or LAST.search(head)
            if new and not unseen:
                yield Mutant(path, text, at, word, new, 'constant')
        elif kind == 'sign' and word in OTHER_SIGN:
            if word in BINARY and (not after_operand or text[at - 1] != ' '):
                continue
            head = text[text.rfind('\n', 0, at) + 1:at]
            if LAST.search(head) or SPACE.search(head):
                continue
            new = '+ 1 <' if word == '<' and is_loop(text, at) else OTHER_SIGN[word][1]
            yield Mutant(path, text, at, word, new, OTHER_SIGN[word][0])


def mutate_lines(path, text, inside):
    at = 0
    for line in text.splitlines(keepends=True):
        if inside(at) and STATEMENT.match(line.rstrip('\n')):
            start = at + len(line) - len(line.lstrip('\t'))
            yield Mutant(path, text, start, line.strip(), ';', 'statement dropped')
        for match in ARGUMENTS.finditer(line):
            equals = re.match(r'[a-z]*cmp\(', match[0]) and \
                (line[:match.start()].endswith('!') or IS_ZERO.match(line[match.end():])) or \
                re.match(r'is_same(?:_\w+)?\(', match[0])
            if inside(at) and match[1] != match[2] and not equals:
                old = line[match.start(1):match.end(2)]
                yield Mutant(path, text, at + match.start(1), old, f'{match[2]}, {match[1]}',
                             'arguments swapped')
        at += len(line)


def mutate_functions(path, text, inside):
    for match in VOID_FUNCTION.finditer(text):
        if inside(match.end() - 1):
            first = text[match.end():text.find('\n', match.end())]
            yield Mutant(path, text, match.end(), first, '\tif (1)\n\t\treturn;\n' + first,
                         'early return')


def mutate_file(path):
    text = read_file(path)
    bodies, fences = find_bodies(text), find_fences(text)
    freeing = [match.span() for match in FREEING.finditer(text)]
    freeing += [match.span() for match in FINISHING.finditer(text)
                if all(map(RELEASE.match, filter(None, match[1].splitlines())))]
    skips = [token.span() for token in TOKEN.finditer(text) if token.lastgroup == 'skip']

    def inside(at):
        return is_within(at, bodies) and not any(is_within(at, each)
                                                 for each in (fences, skips, freeing))

    for mutate in (mutate_tokens, mutate_lines, mutate_functions):
        yield from mutate(path, text, inside)


def changed_lines(since):
    """By file: the changed lines."""
    diff = subprocess.run(['git', 'diff', '-U0', since, '--', *ROOMS], capture_output=True,
                          text=True, check=True).stdout
    lines, path = {}, None
    for line in diff.splitlines():
        if line.startswith('+++ '):
            path = line[6:]
        match = re.match(r'@@ -\S+ \+(\d+)(?:,(\d+))? @@', line)
        if match:
            first, number = int(match[1]), int(match[2] or 1)
            lines.setdefault(path, set()).update(range(first, first + number))
    return lines


def read_equivalents():
    """Pairs of a line before and after, each with its file."""
    rows = [line.split(' | ') for line in read_file(EQUIVALENT).splitlines()
            if line and not line.startswith('#')]
    for row in rows:
        if len(row) != 4 or not row[3].strip():
            sys.exit(f'{EQUIVALENT}: not "path | before | after | why": {" | ".join(row)}')
    return {(row[0], row[1], row[2]) for row in rows}


def check_equivalents():
    """Rows whose code has changed since they were listed must be judged again."""
    rows = read_equivalents()
    made = {(path, mutant.before, mutant.after) for path in {row[0] for row in rows}
            if os.path.exists(path) for mutant in mutate_file(path)}
    for row in sorted(rows - made):
        print(f'{EQUIVALENT}: no mutant of this tree: {" | ".join(row)}')
    return bool(rows - made)


def read_survivors(path):
    """Pairs of a line before and after, each with its file, from the output of scripts/mutate."""
    shape = re.compile(r'^survived, \d+ s, [^:]*: (\S+):\d+: .*\n\t- (.*)\n\t\+ (.*)$', re.M)
    return set(shape.findall(read_file(path)))


def pick_mutants(options):
    """All mutants, in the order in which they are tried: the kinds alternate."""
    tracked = subprocess.run(['git', 'ls-files', *[f'{room}/*.c' for room in ROOMS]],
                             capture_output=True, text=True, check=True).stdout.split()
    files = [path for path in tracked if not options.path or
             any(path == each or path.startswith(each.rstrip('/') + '/') for each in options.path)]
    if options.own:
        files = [path for path in files if os.path.exists(f'tests/{path[:-2]}_test.c')]
    changed = changed_lines(options.since) if options.since else None
    again = read_survivors(options.again) if options.again else None
    equivalent = read_equivalents()

    def is_wanted(path, mutant):
        key = (path, mutant.before, mutant.after)
        return (changed is None or mutant.line in changed.get(path, ())) and \
            (again is None or key in again) and not mutant.is_unseen() and key not in equivalent

    kinds = {}
    for path in files:
        if changed is None or path in changed:
            for mutant in mutate_file(path):
                if is_wanted(path, mutant):
                    kinds.setdefault(mutant.kind, []).append(mutant)
    for mutants in kinds.values():
        mutants.sort(key=lambda mutant: mutant.shuffle(options.seed))
    return [mutant for turn in itertools.zip_longest(*kinds.values()) for mutant in turn if mutant]
