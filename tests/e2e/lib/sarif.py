#!/usr/bin/env python3
"""Check that a file is SARIF 2.1.0, as far as the objects go that we write.

usage: sarif.py FILE

The published schema cannot be had without a network, so TYPES has its part that concerns us: of
each object the properties that it may have, those that it must have, and what they are. Then follow
the specification's demands that no schema can express: indexes that point to what they name, unique
identifiers, bases of relative addresses, the order of steps. Where python3-jsonschema is installed
and SARIF_SCHEMA names a copy of the published schema, that is asked, too.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""
import json
import os
import re
import sys

LEVEL = {'none', 'note', 'warning', 'error'}
# a type: str, int, bool, a set of the values that are allowed, the name of an object, [type] for an
# array, {type} for a dictionary (as a tuple); "!" before a property that must be there, "*" before
# an array whose elements must differ
TYPES = {
    'log': {'$schema': str, '!version': {'2.1.0'}, '!runs': ['run'], 'properties': dict},
    'run': {'!tool': 'tool', 'invocations': ['invocation'], 'results': ['result'],
            'originalUriBaseIds': ('artifactLocation',), '*artifacts': ['artifact'],
            'columnKind': {'utf16CodeUnits', 'unicodeCodePoints'}, 'language': str,
            'defaultEncoding': str, 'properties': dict},
    'tool': {'!driver': 'toolComponent', 'properties': dict},
    'toolComponent': {'!name': str, 'version': str, 'semanticVersion': str, 'fullName': str,
                      'organization': str, 'informationUri': str,
                      '*rules': ['reportingDescriptor'], '*notifications': ['reportingDescriptor'],
                      'properties': dict},
    'reportingDescriptor': {'!id': str, 'name': str, 'shortDescription': 'multiText',
                            'fullDescription': 'multiText', 'help': 'multiText', 'helpUri': str,
                            'defaultConfiguration': 'configuration', 'properties': dict},
    'multiText': {'!text': str, 'markdown': str, 'properties': dict},
    'configuration': {'enabled': bool, 'level': LEVEL, 'rank': int, 'parameters': dict,
                      'properties': dict},
    'invocation': {'!executionSuccessful': bool, 'exitCode': int, 'exitCodeDescription': str,
                   'commandLine': str, 'arguments': [str], 'startTimeUtc': str, 'endTimeUtc': str,
                   'workingDirectory': 'artifactLocation',
                   '*ruleConfigurationOverrides': ['override'],
                   'toolExecutionNotifications': ['notification'],
                   'toolConfigurationNotifications': ['notification'], 'properties': dict},
    'override': {'!descriptor': 'reference', '!configuration': 'configuration',
                 'properties': dict},
    'reference': {'id': str, 'index': int, 'guid': str, 'properties': dict},
    'notification': {'descriptor': 'reference', 'associatedRule': 'reference',
                     '!message': 'message', 'level': LEVEL, '*locations': ['location'],
                     'timeUtc': str, 'threadId': int, 'properties': dict},
    'message': {'text': str, 'markdown': str, 'id': str, 'arguments': [str], 'properties': dict},
    'result': {'ruleId': str, 'ruleIndex': int, 'rule': 'reference', 'level': LEVEL,
               'kind': {'notApplicable', 'pass', 'fail', 'review', 'open', 'informational'},
               '!message': 'message', 'locations': ['location'], '*relatedLocations': ['location'],
               'partialFingerprints': (str,), 'fingerprints': (str,), 'occurrenceCount': int,
               'codeFlows': ['codeFlow'], '*stacks': ['stack'],
               '*suppressions': ['suppression'],
               'baselineState': {'new', 'unchanged', 'updated', 'absent'}, 'properties': dict},
    'suppression': {'!kind': {'inSource', 'external'},
                    'status': {'accepted', 'underReview', 'rejected'}, 'justification': str,
                    'location': 'location', 'properties': dict},
    'location': {'id': int, 'physicalLocation': 'physicalLocation',
                 '*logicalLocations': ['logicalLocation'], 'message': 'message',
                 'properties': dict},
    'physicalLocation': {'artifactLocation': 'artifactLocation', 'region': 'region',
                         'address': 'address', 'properties': dict},
    'artifactLocation': {'uri': str, 'uriBaseId': str, 'index': int, 'description': 'message',
                         'properties': dict},
    'artifact': {'location': 'artifactLocation', 'properties': dict},
    'region': {'startLine': int, 'startColumn': int, 'endLine': int, 'byteOffset': int,
               'properties': dict},
    'address': {'absoluteAddress': int, 'relativeAddress': int, 'offsetFromParent': int,
                'length': int, 'name': str, 'fullyQualifiedName': str, 'kind': str, 'index': int,
                'parentIndex': int, 'properties': dict},
    'logicalLocation': {'name': str, 'fullyQualifiedName': str, 'decoratedName': str, 'kind': str,
                        'index': int, 'parentIndex': int, 'properties': dict},
    'codeFlow': {'message': 'message', '!threadFlows': ['threadFlow'], 'properties': dict},
    'threadFlow': {'id': str, 'message': 'message', '!locations': ['threadFlowLocation'],
                   'properties': dict},
    'threadFlowLocation': {'location': 'location', 'stack': 'stack', 'kinds': [str],
                           'module': str, 'executionOrder': int, 'nestingLevel': int,
                           'importance': {'important', 'essential', 'unimportant'},
                           'properties': dict},
    'stack': {'message': 'message', '!frames': ['stackFrame'], 'properties': dict},
    'stackFrame': {'location': 'location', 'module': str, 'threadId': int, 'parameters': [str],
                   'properties': dict},
}
# arrays that must not be empty, numbers and their least
FILLED = {('codeFlow', 'threadFlows'), ('threadFlow', 'locations')}
LEAST = {('region', 'startLine'): 1, ('region', 'startColumn'): 1, ('result', 'occurrenceCount'): 1,
         ('result', 'ruleIndex'): -1, ('reference', 'index'): -1,
         ('threadFlowLocation', 'executionOrder'): -1}
URI = re.compile(r"(?:%[0-9A-Fa-f]{2}|[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=])*")
wrong = 0


def complain(where, text):
    global wrong
    wrong += 1
    print('%s: %s' % (where, text))


def check_value(where, value, kind):
    if isinstance(kind, list):
        if not isinstance(value, list):
            return complain(where, 'is no array')
        for i, each in enumerate(value):
            check_value('%s[%d]' % (where, i), each, kind[0])
    elif isinstance(kind, tuple):
        if not isinstance(value, dict):
            return complain(where, 'is no object')
        for name, each in value.items():
            check_value('%s.%s' % (where, name), each, kind[0])
    elif isinstance(kind, set):
        if value not in kind:
            complain(where, '%r is not one of %s' % (value, sorted(kind)))
    elif isinstance(kind, str):
        check_object(where, value, kind)
    elif type(value) is not kind:
        complain(where, '%r is not of type %s' % (value, kind.__name__))


def check_object(where, value, name):
    if not isinstance(value, dict):
        return complain(where, 'is no object')
    known = {key.lstrip('!*'): (key, kind) for key, kind in TYPES[name].items()}
    for key in known:
        if known[key][0].startswith('!') and key not in value:
            complain(where, 'has no %s' % key)
    for key, each in value.items():
        if key not in known:
            complain(where, 'a %s has no property %s' % (name, key))
            continue
        check_value('%s.%s' % (where, key), each, known[key][1])
        if known[key][0].startswith('*'):
            texts = [json.dumps(e, sort_keys=True) for e in each]
            if len(set(texts)) < len(texts):
                complain('%s.%s' % (where, key), 'has the same element twice')
        if (name, key) in FILLED and not each:
            complain('%s.%s' % (where, key), 'is empty')
        if isinstance(each, int) and each < LEAST.get((name, key), each):
            complain('%s.%s' % (where, key), '%d is too small' % each)


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


def check_published(log):
    if os.environ.get('SARIF_SCHEMA'):
        import jsonschema
        for error in jsonschema.Draft7Validator(
                json.load(open(os.environ['SARIF_SCHEMA']))).iter_errors(log):
            complain('/'.join(map(str, error.path)), error.message[:200])


def main():
    log = json.load(open(sys.argv[1]))
    check_object('log', log, 'log')
    if not wrong: # what follows relies on it
        for i, run in enumerate(log['runs']):
            check_run('runs[%d]' % i, run)
    check_published(log)
    sys.exit(wrong > 0)


main()
