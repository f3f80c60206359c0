"""The packets of an exported trace, as tshark decodes them, are those that the trace says.

	export_pcapng.py VERBATIM TRACE... : prints a line for each trace, or what is wrong
"""
import collections
import json
import subprocess
import sys
import tempfile
import zlib

FIELDS = ("infiniband.bth.opcode infiniband.bth.psn infiniband.bth.destqp infiniband.aeth.syndrome "
	  "infiniband.invariant.crc frame.comment infiniband.reth.dmalen infiniband.deth.srcqp "
	  "frame.interface_name frame.time_epoch").split()
# tshark mistakes small payloads for RPC, and then finds them malformed
OPTIONS = ["--disable-protocol", "rpcordma"]
MTU = {"IBV_MTU_%d" % n: n for n in (256, 512, 1024, 2048, 4096)}
BASE = {"IBV_QPT_RC": 0, "IBV_QPT_UC": 0x20, "IBV_QPT_UD": 0x60, "IBV_QPT_XRC_SEND": 0xa0}
CODES = {0: (6, 7, 8, 10), 1: (6, 7, 9, 11), 2: (0, 1, 2, 4), 3: (0, 1, 3, 5),
	 9: (0, 1, 22, 23)}
ALONE = {4: 12, 5: 19, 6: 20}
UNSENT = (1, 2, 3, 4, 5, 6)
NAKS = {9: 0x61, 10: 0x62, 11: 0x63, 13: 0x20}


def rows(verbatim, trace, sql):
	out = subprocess.run([verbatim, "sql", "--format", "jsonl", trace, sql], check=True,
			     stdout=subprocess.PIPE).stdout
	return [json.loads(line) for line in out.splitlines()]


def qps(verbatim, trace):
	"""By queue pair: type, MTU, number, and the PSNs it was given, with their times."""
	found = {}
	for row in rows(verbatim, trace, "SELECT object, args, verb, begin, number FROM call JOIN "
			"object ON object.id = call.object WHERE kind = 'qp' AND NOT failed AND "
			"verb IN ('ibv_create_qp', 'ibv_create_qp_ex', 'ibv_modify_qp') "
			"ORDER BY begin"):
		args = row["args"]
		args = json.loads(args) if isinstance(args, str) else args
		if row["verb"] != "ibv_modify_qp":
			init = next(v for k, v in args.items() if "attr" in k)
			found[row["object"]] = {"type": init["qp_type"], "mtu": 4096, "psns": [],
						"number": row["number"], "timer": 0}
			continue
		attr, qp = args["attr"], found[row["object"]]
		if qp["type"] != "IBV_QPT_UD":
			qp["mtu"] = MTU.get(attr.get("path_mtu"), qp["mtu"])
		qp["timer"] = attr.get("min_rnr_timer", qp["timer"])
		if args["attr_mask"] & 1 << 16:
			qp["psns"].append((row["begin"], attr["sq_psn"]))
	return found


def expected(verbatim, trace):
	"""(event[index], opcode, psn) of each packet of a request, and NAKs (syndrome, psn)."""
	ends, counters, packets, naks = {}, {}, [], collections.Counter()
	for wc in rows(verbatim, trace, "SELECT wr_thread || ':' || wr_n AS request, wr_i, status "
		       "FROM wc WHERE wr_thread"):
		ends[wc["request"], wc["wr_i"]] = wc["status"]
	of = qps(verbatim, trace)
	for wr in rows(verbatim, trace, "SELECT thread || ':' || n AS event, i, qp, opcode, time, "
		       "bytes, verb FROM wr WHERE NOT ret AND opcode IS NOT NULL AND verb IN "
		       "('ibv_post_send', 'ibv_wr_complete') ORDER BY time, n, i"):
		qp = of.get(wr["qp"])
		status = ends.get((wr["event"], wr["i"]), 0)
		if not qp or qp["type"] not in BASE or status in UNSENT:
			continue
		told = [psn for psn in qp["psns"] if psn[0] < wr["time"]]
		if counters.get(wr["qp"], (None, 0))[0] != len(told):
			counters[wr["qp"]] = (len(told), told[-1][1] if told else 0)
		psn = counters[wr["qp"]][1]
		count = max(1, -(-int(wr["bytes"] or 0) // qp["mtu"]))
		base = BASE[qp["type"]]
		name = "%s[%d]" % (wr["event"], wr["i"])
		if wr["opcode"] in ALONE:
			codes = [ALONE[wr["opcode"]]]
			count = count if wr["opcode"] == 4 else 1
		elif wr["opcode"] in CODES:
			first, middle, last, only = CODES[wr["opcode"]]
			codes = [only] if count == 1 else [first] + [middle] * (count - 2) + [last]
		else:
			continue
		packets += [(name, base | code, psn + i & 0xffffff) for i, code in enumerate(codes)]
		if status in NAKS:
			syndrome = NAKS[status] | (qp["timer"] if status == 13 else 0)
			naks[syndrome, psn & 0xffffff] += 1
		counters[wr["qp"]] = (len(told), psn + count)
	return packets, naks


def times(verbatim, trace):
	"""When each event was, in ns since 1970."""
	begin = rows(verbatim, trace, "SELECT value FROM meta WHERE key = 'realtime'")[0]["value"]
	return {row["event"]: int(begin) + row["time"] for row in rows(
		verbatim, trace, "SELECT thread || ':' || n AS event, time FROM post UNION "
		"SELECT thread || ':' || n, time FROM poll")}


def nanoseconds(epoch):
	"""The nanoseconds of a number of seconds with nine decimal places."""
	seconds, _, rest = epoch.partition(".")
	return int(seconds) * 10 ** 9 + int((rest + "0" * 9)[:9])


def frames(path):
	"""The bytes of each packet of a pcapng file."""
	data, at = open(path, "rb").read(), 0
	while at < len(data):
		kind, length = (int.from_bytes(data[at + i:at + i + 4], "little") for i in (0, 4))
		if kind == 6:
			n = int.from_bytes(data[at + 20:at + 24], "little")
			yield data[at + 28:at + 28 + n]
		at += length


def icrc(frame):
	ip = bytearray(frame[14:-4])
	if ip[0] >> 4 == 4:
		ip[1] = ip[8] = ip[10] = ip[11] = 255
		udp = 20
	else:
		ip[0] |= 15
		ip[1] = ip[2] = ip[3] = ip[7] = 255
		udp = 40
	ip[udp + 6] = ip[udp + 7] = ip[udp + 12] = 255
	return zlib.crc32(b"\xff" * 8 + bytes(ip)).to_bytes(4, "little")


def decode(path):
	args = ["tshark", "-r", path, "-T", "fields", *OPTIONS, "-e", "_ws.malformed"]
	for field in FIELDS:
		args += ["-e", field]
	out = subprocess.run(args, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
	return [line.split("\t") for line in out.stdout.decode().split("\n")[:-1]]


def compare(verbatim, trace):
	with tempfile.NamedTemporaryFile(suffix=".pcapng") as file:
		subprocess.run([verbatim, "export", "-f", "pcapng", "-o", file.name, trace],
			       check=True)
		decoded = decode(file.name)
		sent = list(frames(file.name))
	wanted, naks = expected(verbatim, trace)
	got, refused, when = [], collections.Counter(), times(verbatim, trace)
	for line, frame in zip(decoded, sent):
		assert not line[0], "malformed: %s" % line
		assert frame[-4:] == icrc(frame), "ICRC: %s" % line
		assert nanoseconds(line[10]) == when[line[6].split("[")[0]], "time: %s" % line
		opcode, psn = int(line[1]), int(line[2])
		if line[4] and int(line[4], 0) & 0x60:
			refused[int(line[4], 0), psn] += 1
		if " ibv_post" in line[6] or " ibv_wr_" in line[6]:
			got.append((line[6].split(" ")[0], opcode, psn))
	assert len(decoded) == len(sent), "%d packets, tshark has %d" % (len(sent), len(decoded))
	assert sorted(got) == sorted(wanted), "packets: %s" % sorted(
		set(got) ^ set(wanted))[:6]
	assert refused == naks, "NAKs: %s instead of %s" % (refused, naks)
	print(len(wanted), "packets of requests,", sum(naks.values()), "NAKs")


for each in sys.argv[2:]:
	try:
		compare(sys.argv[1], each)
	except AssertionError as wrong:
		sys.exit("%s: %s" % (each, wrong))
