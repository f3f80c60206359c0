#!/usr/bin/python3
"""Check that files are SARIF 2.1.0: against the published schema, sarif-2.1.0.json, and what the
specification demands and no schema can express: indexes that point to what they name, unique
identifiers, bases of relative addresses, the order of steps.

usage: sarif.py FILE...

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""
import json
import os
import re
import sys

import jsonschema  # Debian's, hence not the python3 of env

URI = re.compile(r"(?:%[0-9A-Fa-f]{2}|[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=])*")
wrong = 0
file_name = ''  # before the texts of the errors, if there are several


def complain(where, text):
    global wrong
    wrong += 1
    print('%s%s: %s' % (file_name, where, text))


def walk_objects(value, key=''):
    """All objects below @value, each with the property that it is the value of."""
    if isinstance(value, dict):
        yield key, value
        for name, each in value.items():
            yield from walk_objects(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from walk_objects(each, key)


def check_reference(where, reference, descriptors):
    index = reference.get('index', -1)
    if not -1 <= index < len(descriptors):
        complain(where, 'index %d of %d' % (index, len(descriptors)))
    elif index >= 0 and descriptors[index]['id'] != reference.get('id', descriptors[index]['id']):
        complain(where, 'index %d is %s' % (index, descriptors[index]['id']))
    elif index < 0 and reference.get('id') not in [d['id'] for d in descriptors]:
        complain(where, 'there is no %s' % reference.get('id'))


def check_uris(run):
    bases = run.get('originalUriBaseIds', {})
    for name, base in bases.items():
        if not base.get('uri', '/').endswith('/'):
            complain('originalUriBaseIds.' + name, 'does not end with a slash')
    for key, value in walk_objects(run):
        if 'uriBaseId' in value and value['uriBaseId'] not in bases:
            complain(key, 'there is no base ' + value['uriBaseId'])
        if 'uri' not in value:
            continue
        absolute = re.match('[a-z]+:', value['uri'])
        if not URI.fullmatch(value['uri']) or '..' in value['uri'].split('/'):
            complain(key, 'no address: ' + value['uri'])
        if absolute and 'uriBaseId' in value:
            complain(key, 'absolute, and relative to ' + value['uriBaseId'])
        if not absolute and (value['uri'].startswith('/') or 'uriBaseId' not in value):
            complain(key, 'relative to nothing: ' + value['uri'])


def check_flows(where, result):
    for flow in result.get('codeFlows', []):
        ids = [t.get('id') for t in flow['threadFlows']]
        if len(set(ids)) < len(ids):
            complain(where, 'two threadFlows with one id')
        orders = []
        for thread in flow['threadFlows']:
            own = [step['executionOrder'] for step in thread['locations']]
            if own != sorted(own):
                complain(where, 'steps of a thread out of order')
            orders += own
        if len(set(orders)) < len(orders):
            complain(where, 'two steps at one place of the order')


def check_run(where, run):
    driver = run['tool']['driver']
    rules = driver.get('rules', [])
    for name, value in walk_objects(run):
        if name in ('message', 'description') and not {'text', 'id'} & set(value):
            complain(where, 'a message without text')
    for kind in ('rules', 'notifications'):
        ids = [rule['id'] for rule in driver.get(kind, [])]
        if len(set(ids)) < len(ids):
            complain(where, 'two %s with one id' % kind)
    for i, result in enumerate(run.get('results', [])):
        here = '%s.results[%d]' % (where, i)
        check_reference(here, {'id': result['ruleId'], 'index': result['ruleIndex']}, rules)
        if not result.get('partialFingerprints'):
            complain(here, 'has no fingerprint')
        check_flows(here, result)
    for each in run.get('invocations', []):
        for override in each.get('ruleConfigurationOverrides', []):
            check_reference(where, override['descriptor'], rules)
        for note in each.get('toolExecutionNotifications', []):
            check_reference(where, note['descriptor'], driver.get('notifications', []))
            if 'associatedRule' in note:
                check_reference(where, note['associatedRule'], rules)
    check_uris(run)


def read_schema():
    path = os.path.join(os.path.dirname(__file__), 'sarif-2.1.0.json')
    with open(path, encoding='utf-8') as schema:
        return jsonschema.Draft4Validator(json.load(schema))


def check_published(validator, log):
    for error in validator.iter_errors(log):
        complain('/'.join(map(str, error.path)), error.message[:200])


def check_file(validator, path):
    before = wrong
    with open(path, encoding='utf-8') as file:
        log = json.load(file)
    check_published(validator, log)
    if wrong == before:  # the code below relies on it
        for i, run in enumerate(log['runs']):
            check_run('runs[%d]' % i, run)


def main():
    global file_name
    validator = read_schema()
    for path in sys.argv[1:]:
        file_name = path + ': ' if len(sys.argv) > 2 else ''
        check_file(validator, path)
    sys.exit(wrong > 0)


main()
