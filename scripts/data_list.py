"""Read core/wire/data.list, and generate gen/data_gen.h from it (for gen-verbs, data-table)."""
import re
import sys

CTYPES = {'u8': ('uint8_t', 1), 'u16': ('uint16_t', 2), 'u32': ('uint32_t', 4),
          'u64': ('uint64_t', 8), 'i32': ('int32_t', 4), 'i64': ('int64_t', 8)}
PADS = {2: 'uint16_t pad', 4: 'uint32_t pad', 6: 'uint16_t pad[3]'}
PARTS_MAX = 8 # bits of event_wr.parts


def die(msg):
    sys.exit('data.list: ' + msg)


class Family:
    def __init__(self, kind, name, struct, opts):
        self.kind, self.name, self.struct, self.fields = kind, name, struct, []
        self.prefix, self.table = opts.get('prefix', ''), opts.get('table')
        self.special = 'special' in opts
        self.bit = None # of a part


class Field:
    def __init__(self, family, line):
        m = re.match(r'(\w+)\s+(\w+)(?::(\w+))?((?:\s+[\w=]+)*)'
                     r'(?:\s+; ([^#]*?))?\s*(?:#\s*(.*))?$', line)
        if not m or m.group(2) not in CTYPES or (m.group(3) or 'u8') not in CTYPES:
            die('cannot read "%s"' % line)
        self.family = family
        self.member, self.wire, self.read, options, self.shown, self.about = m.groups()
        opts = read_options(options.split())
        self.read = self.read or self.wire
        self.name = opts.get('as', family.prefix + self.member)
        self.column = opts.get('column', self.name)
        self.names, self.bit, self.own = opts.get('enum'), opts.get('bit'), 'own' in opts


def read_options(words):
    return {key: value or True for key, _, value in (w.partition('=') for w in words)}


def read_data(path):
    families, bit = [], 1
    for line in open(path):
        line = line.rstrip()
        if not line or line.startswith('#'):
            continue
        words = line.split()
        if words[0] == 'part':
            families.append(Family('part', words[1], words[1].lower(), read_options(words[2:])))
            families[-1].bit = bit
            bit <<= 1
        elif words[0] == 'struct':
            families.append(Family('struct', words[1], words[2], read_options(words[3:])))
        elif words[0] == 'columns':
            families.append(Family('columns', words[1], None, read_options(words[2:])))
        elif families:
            families[-1].fields.append(Field(families[-1], line))
    if bit > 1 << PARTS_MAX:
        die('struct event_wr has room for %d parts' % PARTS_MAX)
    columns = [f.column for family in families for f in family.fields]
    for column in columns:
        if columns.count(column) > 1:
            die('two columns are called %s' % column)
    return families


def make_list(name, args, rows):
    """A macro that applies another to each row."""
    return '#define %s(%s)%s\n\n' % (name, args, ''.join(' \\\n\t%s' % r for r in rows))


def make_struct(family):
    lines, at = [], 0
    for f in family.fields:
        ctype, size = CTYPES[f.wire]
        if at % size:
            die('%s: %s is not aligned' % (family.name, f.member))
        lines.append('\t%s %s; /* %s */\n' % (ctype, f.member, f.about))
        at += size
    if at % 8:
        lines.append('\t%s;\n' % PADS[-at % 8])
    return 'struct event_%s {\n%s};\n\n' % (family.struct, ''.join(lines))


def make_enum(name, rows, end):
    return 'enum %s {\n%s\t%s,\n};\n\n' % (name, ''.join('\t%s = %d,\n' % r for r in rows), end)


def read_bits(families):
    """Bits of enum event_wc_part, in their order."""
    bits = []
    for f in (f for family in families for f in family.fields):
        if f.bit and f.bit not in bits:
            bits.append(f.bit)
    return bits


def make_parts(families):
    parts = [f for f in families if f.kind == 'part']
    pairs = [(p, '_(%s, %s)' % (p.name, p.struct)) for p in parts]
    sizes = ['(parts & WR_%s ? sizeof(struct event_%s) : 0)' % (p.name, p.struct) for p in parts]
    return ''.join([
        make_list('EACH_PART', '_', [text for _, text in pairs]),
        '/* All but the commonest, RDMA. */\n',
        make_list('EACH_RARE_PART', '_', [text for p, text in pairs if p.name != 'RDMA']),
        '/* Those that struct wr has. */\n',
        make_list('EACH_SHOWN_PART', '_', [text for p, text in pairs if not p.special]),
        make_enum('event_wr_part', [('WR_' + p.name, p.bit) for p in parts],
                  'WR_PARTS_ALL = %d' % (parts[-1].bit * 2 - 1)),
        ''.join(make_struct(p) for p in parts),
        '/* Bytes of the parts that @parts (enum event_wr_part) names. */\n'
        'static inline size_t wr_parts_bytes(unsigned int parts)\n{\n\treturn %s;\n}\n\n' %
        ' +\n\t       '.join(sizes)])


def make_field(f):
    return '_(%s)' % ', '.join([f.family.name, f.column, f.name, f.member, CTYPES[f.read][0],
                                CTYPES[f.wire][0]])


def make_sql(family):
    rows = []
    for f in family.fields:
        if f.own:
            continue
        rows.append('_(%s, "%s"),' % (f.column, f.name))
        if f.names:
            rows.append('NAME("%s_name", "%s"),' % (f.name, f.names))
    return make_list('SQL_' + family.name, '_, NAME', rows)


def make_shown(f):
    """One row for dump: field, group, text before and behind, how, of which enum or object."""
    m = re.fullmatch(r'([^%]*)%(x|u|\{(?:(flags) )?(\w+)\})([^%]*)', f.shown)
    if not m:
        die('%s: cannot read "%s"' % (f.column, f.shown))
    before, how, flags, name, behind = m.groups()
    how = {'x': 'HEX', 'u': 'NUMBER'}.get(how, 'FLAGS' if flags else 'OBJECT')
    group = 'WC_' + f.bit if f.bit else 'WR_' + f.family.name
    return '_(%s, %s, "%s", "%s", %s, %s, %s)' % (f.name, group, before, behind, how,
                                                  '"%s"' % name if flags else 'NULL',
                                                  'OBJECT_' + name if how == 'OBJECT' else '0')


def make_fields(families):
    out = []
    for family in families:
        out.append(make_list('FIELDS_' + family.name, '_', [make_field(f) for f in family.fields]))
        if family.kind == 'columns' or family.special:
            continue
        out.append(make_list('SHOWN_' + family.name, '_',
                             [make_field(f) for f in family.fields if not f.own]))
        out.append(make_sql(family))
    fields = [f for family in families for f in family.fields]
    for name, kind in (('WR', 'part'), ('WC', 'struct')):
        out.append(make_list('DUMP_' + name, '_', [make_shown(f) for f in fields
                                                  if f.shown and f.family.kind == kind]))
    out.append(make_list('EACH_EXTRA_BIT', '_', ['_(%s, WC_%s)' % (f.column, f.bit)
                                                for f in fields if f.bit]))
    return ''.join(out)


def make_header(families):
    structs = [f for f in families if f.kind == 'struct']
    bits = read_bits(families)
    return ''.join([
        '/* Made by scripts/gen-verbs from core/wire/data.list; not to be edited. */\n'
        '#pragma once\n\n#include <stddef.h>\n#include <stdint.h>\n\n',
        ''.join(make_struct(f) for f in structs),
        make_parts(families),
        make_enum('event_wc_part', [('WC_' + b, 1 << i) for i, b in enumerate(bits)],
                  'WC_PARTS = %d' % (1 << len(bits))),
        make_list('EACH_FAMILY', '_', ['_(%s)' % f.name for f in families]),
        '/*\n * Fields of each family: _(family, column, name for readers and SQL, member of\n'
        ' * the event, type for readers, type in the event); SHOWN_ those that SQL has,\n'
        ' * SQL_ for its tables.\n */\n',
        make_fields(families)])
