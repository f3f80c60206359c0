"""An exported Perfetto trace, decoded by protoc, has what the trace has, and is consistent.

	export_perfetto.py VERBATIM TRACE... : prints a line for each trace, or what is wrong
"""
import collections
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def decode(data):
	"""Each packet as a dictionary of lists: the text that protoc makes of it."""
	text = subprocess.run(["protoc", "--decode=Trace", "-I", HERE,
			       os.path.join(HERE, "perfetto.proto")], input=data, check=True,
			      stdout=subprocess.PIPE).stdout.decode()
	stack = [collections.defaultdict(list)]
	for line in text.splitlines():
		line = line.strip()
		if line.endswith(" {"):
			inner = collections.defaultdict(list)
			assert not line[0].isdigit(), "field not known: " + line
			stack[-1][line[:-2]].append(inner)
			stack.append(inner)
		elif line == "}":
			stack.pop()
		else:
			name, value = line.split(": ", 1)
			assert not name.isdigit(), "field not known: " + line
			stack[-1][name].append(value)
	return stack[0]["packet"]


def read_packets(packets):
	"""Tracks, events in order, names by number, after checks of what each must have."""
	tracks, events, names, last = {}, [], collections.defaultdict(dict), 0
	for packet in packets:
		flags = packet["sequence_flags"]
		assert flags == (["1"] if not names else ["2"]), "flags: %s" % flags
		for data in packet["interned_data"]:
			for kind, entries in data.items():
				for entry in entries:
					iid = entry["iid"][0]
					assert iid != "0" and iid not in names[kind], "iid " + iid
					names[kind][iid] = entry["name"][0].strip('"')
		for track in packet["track_descriptor"]:
			uuid = track["uuid"][0]
			assert uuid not in tracks, "track twice: " + uuid
			assert all(p in tracks for p in track["parent_uuid"]), "parent: " + uuid
			tracks[uuid] = track
		for event in packet["track_event"]:
			time = int(packet["timestamp"][0])
			assert time >= last, "%d after %d" % (time, last)
			last = time
			events.append(event)
	return tracks, events, names


def check(tracks, events, names):
	"""How many slices of requests and of calls there are, and how often each flow."""
	open_slices, flows = collections.Counter(), collections.Counter()
	requests, calls = 0, 0
	for event in events:
		kind, track = event["type"][0], event["track_uuid"][0]
		assert track in tracks, "track not known: " + track
		assert all(i in names["event_names"] for i in event["name_iid"]), event["name_iid"]
		assert all(i in names["event_categories"] for i in event["category_iids"])
		assert all(n["name_iid"][0] in names["debug_annotation_names"]
			   for n in event["debug_annotations"])
		assert bool(tracks[track]["counter"]) == (kind == "TYPE_COUNTER"), track
		flows.update(event["flow_ids"])
		if kind == "TYPE_SLICE_BEGIN":
			lane = not tracks[track]["thread"]
			requests, calls = requests + lane, calls + (not lane)
			open_slices[track] += 1
			assert not lane or open_slices[track] == 1, "slices overlap: " + track
		elif kind == "TYPE_SLICE_END":
			open_slices[track] -= 1
			assert open_slices[track] >= 0, "ends before it begins: " + track
	assert not any(open_slices.values()), "not ended: %s" % open_slices
	return requests, calls, flows


def ask(verbatim, trace, sql):
	out = subprocess.run([verbatim, "sql", trace, sql], check=True, stdout=subprocess.PIPE)
	return int(out.stdout)


def compare(verbatim, trace):
	packets = decode(subprocess.run([verbatim, "export", "-f", "perfetto", trace], check=True,
					stdout=subprocess.PIPE).stdout)
	requests, calls, flows = check(*read_packets(packets))
	assert any(packet["clock_snapshot"] for packet in packets), "no clocks"
	wanted = ask(verbatim, trace, "SELECT count(*) FROM wr WHERE NOT bad AND NOT ret")
	assert requests == wanted, "%d requests instead of %d" % (requests, wanted)
	wanted = ask(verbatim, trace, "SELECT count(*) FROM call WHERE NOT ours")
	assert calls == wanted, "%d calls instead of %d" % (calls, wanted)
	assert min(flows.values(), default=2) >= 2, "a flow of one end"
	assert len(flows) == requests, "%d flows, %d requests" % (len(flows), requests)
	# post, slice, completion of a send, and the receive that it filled: once more
	received = sum(n == 4 for n in flows.values())
	print(requests, "requests,", calls, "calls,", received, "received by the peer")


for each in sys.argv[2:]:
	try:
		compare(sys.argv[1], each)
	except AssertionError as wrong:
		sys.exit("%s: %s" % (each, wrong))
