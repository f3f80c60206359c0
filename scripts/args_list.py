"""The arguments and results of all verbs as one tree of names: core/store/db/args.h looks up a
value by its place in it, so that the compiler checks each name.

gen-verbs calls make_header(gen): args_gen.h has struct arg_tree, in which each name is a member,
and ARG_TREE(_), which has a row for each: its parent, its name. And make_handles(gen), for
analyzer/model/handles.c: handles_gen.h has the names that are handles of objects.
"""
import re

HEAD = '/* Made by scripts/gen-verbs from the lists; not to be edited. */\n#pragma once\n\n'
# the results of all verbs have these
LATE = ('ret',)


def add_fields(gen, tree, fields, above):
    for f in fields:
        if not re.fullmatch(r'\w+', f.name):
            raise SystemExit('gen-verbs: "%s" needs a name (as=) for the trace' % f.name)
        add_type(gen, tree.setdefault(f.name, {}), gen.kind(f), above)


def add_type(gen, tree, kind, above):
    """The members of the structure of a field, of an array's element or of a pointer's target."""
    tag = (kind[2] or '').removeprefix('&struct_')
    if tag in gen.structs and tag not in above:
        add_fields(gen, tree, gen.structs[tag].fields, above + (tag,))


def make_tree(gen):
    """{name: {name: ...}}: verbs that give a name to different structures have all their fields."""
    tree = {name: {} for name in LATE}
    for v in gen.verbs:
        add_fields(gen, tree, v.args, ())
        for a in v.args:
            if 'after' in a.opts: # its fields are recorded when the verb has changed them
                add_fields(gen, tree[a.name], gen.objects[gen.kind(a)[1]].fields, ())
        if v.effect == 'create' or v.id == 'get_device_list':
            add_fields(gen, tree['ret'], gen.objects[v.object].fields, ())
    return tree


def make_members(tree, tabs):
    return ''.join(
        '%sstruct {\n%s\tchar self;\n%s%s} %s;\n' % (
            tabs, tabs, make_members(below, tabs + '\t'), tabs, name) if below else
        '%schar %s;\n' % (tabs, name) for name, below in tree.items())


def make_rows(tree, above=''):
    return ''.join(' \\\n\t_(%s, %s, %s)' % (above or 'none', above + '.' + name if above else name,
                                              name) +
                   make_rows(below, above + '.' + name if above else name)
                   for name, below in tree.items())


def make_header(gen):
    tree = make_tree(gen)
    return (HEAD + '/* Each member is one byte, and its offset the number of a name. */\n'
            'struct arg_tree {\n\tchar none;\n' + make_members(tree, '\t') + '};\n\n'
            '/* parent, path, name */\n#define ARG_TREE(_)' + make_rows(tree) + '\n')


def is_single(gen, kind, f):
    """A structure, or a pointer to one."""
    return kind[0] in ('FIELD_STRUCT', 'FIELD_PTR') and 'count' not in f.opts and \
        (kind[2] or '').removeprefix('&struct_') in gen.structs


def find_handles(gen, fields, path, above):
    """(path, kind) of each, in the order of the fields."""
    found = []
    for f in fields:
        kind = gen.kind(f)
        if kind[0] == 'FIELD_OBJ':
            found.append((path + f.name, kind[1]))
        elif is_single(gen, kind, f) and kind[2] not in above:
            inner = gen.structs[kind[2].removeprefix('&struct_')].fields
            found += find_handles(gen, inner, path + f.name + '.', above + (kind[2],))
    return found


def make_handles(gen):
    rows, lists, made = [], [], []

    def add(found):
        first = len(rows)
        rows.extend('\t{ ARG(%s), OBJECT_%s },\n' % (path, kind) for path, kind in found)
        return '{ %d, handle_rows + %d }' % (len(found), first) if found else '{ 0 }'

    for v in gen.verbs:
        given = [a for a in v.args if 'out' not in a.opts]
        own = gen.self_index(v)
        lists.append('\t[VERB_%s] = { %s, %s },\n' % (
            v.id, add(find_handles(gen, given, '', ())),
            'ARG(%s)' % v.args[own].name if own >= 0 else 'ARG_NONE'))
    for kind, s in gen.objects.items():
        made.append('\t[OBJECT_%s] = %s,\n' % (
            kind, add(find_handles(gen, s.fields, 'ret.', ()))))
    return (HEAD + 'static const struct handle handle_rows[] = {\n%s};\n\n' % ''.join(rows) +
            '/* those of the arguments, and the one that the verb acts on */\n'
            'static const struct {\n\tstruct handle_list given;\n\tenum arg self;\n'
            '} verb_handles[VERB_COUNT] = {\n%s};\n\n' % ''.join(lists) +
            'static const struct handle_list made_handles[OBJECT_COUNT] = {\n%s};\n' %
            ''.join(made))
