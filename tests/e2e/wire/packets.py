#!/usr/bin/env python3
"""Compare the RoCE v2 packets of two runs of tests/apps/cm_packets, field by field.

usage: packets.py CAPTURE SOFT-ROCE ENDS

CAPTURE and SOFT-ROCE are pcapng files, which may be compressed by gzip; both ends of the latter are
on Soft-RoCE, those of the former on the software device: client, server or client,server. Prints
each field that differs, and why; the exit status is 1 if there is no reason. Packets that were sent
again are left out.

Values that differ between any two runs are replaced by what they mean: addresses by the end that
has them, numbers by the order in which they appear, PSNs by the distance to the first one.
"""
import collections
import gzip
import itertools
import re
import struct
import sys
import zlib

ROCE = 4791
MARK = b'\xfe' * 8  # cm_packets: keys and numbers follow

# Each header: the names of its fields and their bits. After a colon: what the value is; < is a
# number of the sender, > of the receiver.
IPV4 = '''version 4, ihl 4, tos 8, length 16, id:skip 16, reserved 1, df 1, mf 1, offset 13, ttl 8,
    protocol 8, checksum:skip 16, src:ip 32, dst:ip 32'''
UDP = 'sport:port 16, dport 16, length 16, checksum:sum 16'
BTH = '''opcode 8, se 1, m 1, pad 2, tver 4, p_key 16, fecn 1, becn 1, reserved6 6, dest_qp:qpn> 24,
    ack_request 1, reserved7 7, psn:psn 24'''
HEADERS = {
    'deth': 'q_key 32, reserved 8, src_qp:qpn< 24',
    'reth': 'va 64, r_key:key> 32, length 32',
    'atomiceth': 'va 64, r_key:key> 32, swap_add 64, compare 64',
    'aeth': 'syndrome 8, msn 24',
    'atomicacketh': 'original 64',
    'immdt': 'imm 32',
    'ieth': 'r_key:key> 32',
}
MAD = '''base_version 8, class 8, class_version 8, method 8, status 16, class_specific 16,
    tid:tid 64, attribute 16, reserved 16, modifier 32'''
PATH = '''{0}_lid 16, {0}_remote_lid 16, {0}_gid:gid 128, {0}_remote_gid:gid 128,
    {0}_flow_label:flow< 20, {0}_reserved 6, {0}_rate 6, {0}_traffic_class 8, {0}_hop_limit 8,
    {0}_sl 4, {0}_subnet_local 1, {0}_reserved2 3, {0}_ack_timeout 5, {0}_reserved3 3'''
CM = {
    0x10: ('REQ', '''local_id:id< 32, reserved 8, vendor_id 24, service_id 64, ca_guid:guid< 64,
        reserved2 32, q_key 32, qpn:qpn< 24, responder_resources 8, eecn 24, initiator_depth 8,
        remote_eecn 24, remote_timeout 5, service_type 2, flow_control 1, psn:start 24,
        local_timeout 5, retry_count 3, p_key 16, mtu 4, rdc 1, rnr_retry 3, max_retries 4, srq 1,
        extended_type 3, ''' + PATH.format('primary') + ', ' + PATH.format('alternate') +
             ''', cma_version 8, cma_ip_version 4, cma_reserved 4, cma_port:skip 16,
        cma_source:gid 128, cma_destination:gid 128'''),
    0x11: ('MRA', '''local_id:id< 32, remote_id:id> 32, message 2, reserved 6, timeout 5,
        reserved2 3'''),
    0x12: ('REJ', '''local_id:id< 32, remote_id:id> 32, message 2, reserved 6, info_length 7,
        reserved2 1, reason 16, info 576'''),
    0x13: ('REP', '''local_id:id< 32, remote_id:id> 32, q_key 32, qpn:qpn< 24, reserved 8, eecn 24,
        reserved2 8, psn:start 24, reserved3 8, responder_resources 8, initiator_depth 8,
        ack_delay 5, failover 2, flow_control 1, rnr_retry 3, srq 1, reserved4 4,
        ca_guid:guid< 64'''),
    0x14: ('RTU', 'local_id:id< 32, remote_id:id> 32'),
    0x15: ('DREQ', 'local_id:id< 32, remote_id:id> 32, qpn:qpn> 24, reserved 8'),
    0x16: ('DREP', 'local_id:id< 32, remote_id:id> 32'),
    0x17: ('SIDR_REQ', '''request_id:id< 32, p_key 16, reserved 16, service_id 64, cma_version 8,
        cma_ip_version 4, cma_reserved 4, cma_port:skip 16, cma_source:gid 128,
        cma_destination:gid 128'''),
    0x18: ('SIDR_REP', '''request_id:id> 32, status 8, info_length 8, reserved 16, qpn:qpn< 24,
        reserved2 8, service_id 64, q_key 32, info 576'''),
}
OPERATIONS = {  # name, extended headers
    0x00: ('SEND_FIRST', ''), 0x01: ('SEND_MIDDLE', ''), 0x02: ('SEND_LAST', ''),
    0x03: ('SEND_LAST_IMM', 'immdt'), 0x04: ('SEND_ONLY', ''), 0x05: ('SEND_ONLY_IMM', 'immdt'),
    0x06: ('WRITE_FIRST', 'reth'), 0x07: ('WRITE_MIDDLE', ''), 0x08: ('WRITE_LAST', ''),
    0x09: ('WRITE_LAST_IMM', 'immdt'), 0x0a: ('WRITE_ONLY', 'reth'),
    0x0b: ('WRITE_ONLY_IMM', 'reth immdt'), 0x0c: ('READ_REQUEST', 'reth'),
    0x0d: ('READ_RESPONSE_FIRST', 'aeth'), 0x0e: ('READ_RESPONSE_MIDDLE', ''),
    0x0f: ('READ_RESPONSE_LAST', 'aeth'), 0x10: ('READ_RESPONSE_ONLY', 'aeth'),
    0x11: ('ACKNOWLEDGE', 'aeth'), 0x12: ('ATOMIC_ACKNOWLEDGE', 'aeth atomicacketh'),
    0x13: ('COMPARE_SWAP', 'atomiceth'), 0x14: ('FETCH_ADD', 'atomiceth'),
    0x16: ('SEND_LAST_INV', 'ieth'), 0x17: ('SEND_ONLY_INV', 'ieth'),
}
TRANSPORTS = {0: 'RC', 1: 'UC', 3: 'UD'}
RESPONSES = range(0x0d, 0x13)

# What the software device may send otherwise than Soft-RoCE: packets, field, both values, and why.
UNRELIABLE = 'UC |UD |REQ|RE[PJ]|RTU|DRE|SIDR'
ANY = None
DIFFERENCES = (
    (UNRELIABLE, 'bth.ack_request', '0x0', '0x1', 'nothing is acknowledged there'),
    ('', 'bth.m', '0x1', '0x0', 'queue pairs without an alternate path are in state Migrated'),
    ('', 'udp.checksum', 'a sum', 'none', 'it protects the identification of IPv4, which a socket '
     'cannot read, so that the ICRC is checked without it'),
    ('RC ACK', 'aeth.syndrome', '0x61', '0x63', 'a message longer than its receive request is an '
     'invalid request, as on hardware; Soft-RoCE reports an error of the receiver'),
    ('REQ', 'req.primary_ack_timeout', '0xf', '0x13', 'the packet lifetime of the port is 2^14 * '
     '4.096 us; the kernel assumes 2^18 for Ethernet'),
    ('REQ', 'req.primary_rate', '0x10', '0x0', 'the port has 100 Gb/s, a cable of the kernel none'),
    ('REQ', 'req.primary_flow_label', '0', ANY, 'the UDP source port is that of the process, not '
     'derived from the flow label'),
)


def frames(data):
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from('<II', data, at)
        if kind == 6:  # enhanced packet block
            yield data[at + 28:at + 28 + struct.unpack_from('<I', data, at + 20)[0]]
        at += size


class Reader:
    """Fields of the bytes of a packet."""

    def __init__(self, data):
        self.data, self.bit, self.fields = data, 0, []

    def read(self, prefix, text):
        first = len(self.fields)
        for field in text.replace('\n', ' ').split(','):
            name, bits = field.split()
            name, _, kind = name.partition(':')
            end = self.bit + int(bits)
            chunk = int.from_bytes(self.data[self.bit // 8:(end + 7) // 8], 'big')
            self.fields.append((f'{prefix}.{name}', kind,
                                chunk >> -end % 8 & (1 << int(bits)) - 1))
            self.bit = end
        return {name.partition('.')[2]: value for name, _, value in self.fields[first:]}

    def rest(self):
        return self.data[self.bit // 8:]


def is_intact(ip):
    masked = bytearray(ip[:-4])
    for i in (1, 8, 10, 11, 26, 27, 32):  # TOS, TTL, both checksums, FECN and BECN
        masked[i] = 0xff
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + bytes(masked))) == ip[-4:]


def add_numbers(reader, text):
    """What comes last: numbers that the program tells are replaced."""
    before, mark, after = text.partition(MARK)
    if mark:
        text = before + mark + after[8:]
    reader.fields.append(('payload', '', text.hex()))


def read_mad(reader):
    mad = reader.read('mad', MAD)
    name, text = CM[mad['attribute']]
    reader.read(name.lower(), text)
    return name


def read_packet(frame):
    """None, or the name of the packet, its fields and its end."""
    ip = frame[14:]
    if frame[12:14] != b'\x08\x00' or ip[9] != 17 or struct.unpack_from('>H', ip, 22)[0] != ROCE:
        return None
    ip = ip[:struct.unpack_from('>H', ip, 2)[0]]
    reader = Reader(ip[:-4])
    source = reader.read('ip', IPV4)['src']
    reader.read('udp', UDP)
    bth = reader.read('bth', BTH)
    name, headers = OPERATIONS[bth['opcode'] & 31]
    transport = TRANSPORTS[bth['opcode'] >> 5]
    for header in (['deth'] if transport == 'UD' else []) + headers.split():
        reader.read(header, HEADERS[header])
    name = f'{transport} {name}'
    if bth['dest_qp'] == 1:
        name = read_mad(reader)
    add_numbers(reader, reader.rest())
    reader.fields.append(('icrc', '', 'good' if is_intact(ip) else 'bad'))
    return name, reader.fields, source, bth


class Meaning:
    """Replaces values by their meaning, in the order of the packets."""

    def __init__(self, client, server):
        self.ends = {client: 'client', server: 'server'}
        self.kinds = collections.defaultdict(dict)
        self.flows, self.latest, self.exchanges = {}, {}, {}

    def number(self, kind, value, source):
        """The how manieth of this kind it is, of the end to which it belongs."""
        known = self.kinds[kind[:-1], source if kind[-1] == '<' else self.other(source)]
        return f'{kind[:-1]} {known.setdefault(value, len(known) + 1)}' if value else 0

    def other(self, source):
        return next(end for end in self.ends if end != source)

    def psn(self, source, bth):
        """From the first packet of the flow; a response is in that of the latest request."""
        if bth['opcode'] & 31 in RESPONSES:
            first = self.latest[source]
        else:
            first = self.flows.setdefault((source, bth['dest_qp']), bth['psn'])
            self.latest[self.other(source)] = first
        return (bth['psn'] - first) % (1 << 24)

    def end(self, value):
        return self.ends.get(value & 0xffffffff if value >> 32 in (0, 0xffff) else value, value)

    def of(self, kind, value, source, bth):
        if kind in ('ip', 'gid'):
            return self.end(value)
        if kind == 'psn':
            return self.psn(source, bth)
        if kind == 'start':
            return 'the first'
        if kind == 'port':
            return 'a flow' if value >= 0xc000 else 'another port'
        if kind == 'tid':
            return f'exchange {self.exchanges.setdefault(value, len(self.exchanges) + 1)}'
        if kind == 'sum':
            return 'a sum' if value else 'none'
        if kind and not (kind[:3] == 'qpn' and value == 1):
            return self.number(kind, value, source)
        return value if isinstance(value, str) else hex(value)


def read_file(path):
    """The packets, without those that were sent again: name, sender, fields."""
    with open(path, 'rb') as file:
        data = file.read()
    if data[:2] == b'\x1f\x8b':
        data = gzip.decompress(data)
    packets = list(filter(None, map(read_packet, frames(data))))
    client = packets[0][2]
    server = next(source for _, _, source, _ in packets if source != client)
    meaning = Meaning(client, server)
    known, result = set(), []
    for name, fields, source, bth in packets:
        values = {field: meaning.of(kind, value, source, bth) for field, kind, value in fields
                  if kind != 'skip'}
        exchange = values.get('mad.tid')
        key = (name, source, exchange or (bth['dest_qp'], bth['psn']))
        if key not in known:
            result.append((name, meaning.ends[source], values))
        known.add(key)
    return result


def find_differences(ours, theirs):
    """Yields the number of the packet, its name and sender, the field, and both values."""
    for i, (our, their) in enumerate(itertools.zip_longest(ours, theirs), 1):
        if not our or not their or our[:2] != their[:2]:
            yield i, '', '', 'packet', our and our[:2], their and their[:2]
            return
        for field in sorted(our[2].keys() | their[2].keys()):
            values = our[2].get(field), their[2].get(field)
            if values[0] != values[1]:
                yield i, *our[:2], field, *values


def find_reason(packet, field, ours, theirs):
    for pattern, name, our, their, reason in DIFFERENCES:
        if re.match(pattern, packet) and (name, our) == (field, str(ours)) and \
                their in (ANY, str(theirs)):
            return reason
    return None


def compare(capture, soft_roce, ends):
    packets, found, failed = read_file(capture), collections.defaultdict(list), False
    for i, packet, sender, field, *values in find_differences(packets, read_file(soft_roce)):
        reason = find_reason(packet, field, *values) if sender in ends else None
        found[field, reason].append(f'packet {i}, {packet} of the {sender}: {values[0]}, '
                                    f'Soft-RoCE has {values[1]}')
    for (field, reason), cases in found.items():
        print(f'{field}: {cases[0]}' + f' (and {len(cases) - 1} more)' * (len(cases) > 1),
              f'    {reason or "NO REASON"}', sep='\n')
        failed |= not reason
    print(f'{len(packets)} packets')
    return failed


sys.exit(compare(sys.argv[1], sys.argv[2], sys.argv[3].split(',')))
