"""What is alive after a replay is what the trace says of that moment.

	alive.py VERBATIM TRACE T:N REPORT

REPORT is that of `verbatim replay --to T:N -f json`. Exact: the objects, the states of queue
pairs, each request that is outstanding; and of connected queue pairs that only send, how many
completions are in the queues: those of all messages that have both a send and a receive.
"""
import json
import re
import subprocess
import sys

verbatim, trace, event, report = sys.argv[1:]
thread, n = event.split(":")


def sql(query):
    out = subprocess.run([verbatim, "sql", trace, query], check=True, capture_output=True,
                         text=True)
    return [line.split("|") for line in out.stdout.splitlines()]


def fail(what):
    sys.exit(f"{event} of {trace}: {what}")


def state_there(name, process):
    out = subprocess.run([verbatim, "query", "-f", "json", trace,
                          f"state of {name} at {event} in process {process}"],
                         check=True, capture_output=True, text=True)
    rows = json.loads(out.stdout)["answers"][0]["state"]
    states = [row["value"] for row in rows if row["property"] == "state"]
    return states[0].split()[0] if states else "RESET"


def compare_objects(alive):
    there = {f"{name}/{process}" for name, process in sql(
        f"SELECT name, process FROM object WHERE created_at <= {at}"
        f" AND {LIVES} AND kind NOT IN ('device', 'id')")}
    here = {one["object"] for one in alive}
    if here != there:
        fail(f"objects: here alone {here - there}, there alone {there - here}")


def find_taken(requests, there):
    """What queue pairs took of a shared queue, and were destroyed before it was polled."""
    found = set()
    for srq, name in sql("SELECT id, name || '/' || process FROM object WHERE kind = 'srq'"):
        taken = sum(count(
            f"SELECT (SELECT count(*) FROM requests WHERE {reached} AND outcome <> 'refused'"
            f" AND object = {peer} AND side = 'send') - (SELECT count(*) FROM wc WHERE qp = {qp}"
            f" AND opcode = 128 AND time <= {at})")
            for qp, peer in sql("SELECT object, peer FROM qps WHERE peer NOT NULL"
                                f" AND srq = {srq} AND object IN"
                                f" (SELECT id FROM object WHERE NOT {LIVES})"))
        found |= set(sorted(request for request in requests if there[request][0] == name)[:taken])
    return found


def compare_requests(alive):
    rows = sql(f"SELECT name || '/' || process, event || '[' || i || ']', is_signaled, side"
               f" FROM requests WHERE {reached} AND outcome <> 'refused'"
               f" AND (completed IS NULL OR completed > {at})"
               f" AND object IN (SELECT id FROM object WHERE {LIVES})")
    there = {}
    for queue, request, signaled, side in rows:
        there[request] = (queue, side == "send" and signaled == "0")
    here = {request["request"] for one in alive
            for request in one["under_way"] + one["completed"]}
    silent = {request for request, (_, quiet) in there.items() if quiet}
    silent |= find_taken(set(there) - here - silent, there)
    if here - set(there) or set(there) - here - silent:
        fail(f"requests: here alone {here - set(there)}, there alone {set(there) - here - silent}")


def count(query):
    return int(sql(query)[0][0])


def compare_completions(alive):
    """Those that came and that the program has not asked for: of messages, less what it got."""
    kinds = {row[0] for row in sql("SELECT DISTINCT opcode_name FROM requests WHERE side = 'send'")}
    transports = {row[0] for row in sql("SELECT DISTINCT type FROM qps")}
    shared = sql("SELECT 1 FROM qps WHERE srq NOT NULL")
    if kinds != {"IBV_WR_SEND"} or transports != {"IBV_QPT_RC"} or shared:
        return
    posted = (f"SELECT count(*) FROM requests WHERE {reached} AND outcome <> 'refused'"
              " AND object = {} AND side = '{}'")
    for qp, name, peer in sql("SELECT object, name || '/' || process, peer FROM qps"
                              " WHERE peer NOT NULL"):
        messages = min(count(posted.format(peer, "send")), count(posted.format(qp, "recv")))
        polled = count(posted.format(qp, "recv") + f" AND completed <= {at}")
        here = [len([c for c in one["completed"] if c["receive"]])
                for one in alive if one["object"] == name]
        if here and here[0] != messages - polled:
            fail(f"{name}: {here[0]} received and not polled, there {messages - polled}")


with open(report) as file:
    alive = json.load(file)["alive"]
at = int(sql(f"""SELECT coalesce(
    (SELECT end FROM call WHERE thread = {thread} AND n = {n}),
    (SELECT time FROM post WHERE thread = {thread} AND n = {n}),
    (SELECT time FROM poll WHERE thread = {thread} AND n = {n}))""")[0][0])
reached = f"(time < {at} OR (time = {at} AND (thread, n) <= ({thread}, {n})))"
# an object lives until the call that destroys it has returned
LIVES = f"""coalesce((SELECT end FROM call WHERE thread = destroyed_thread AND n = destroyed_n),
    destroyed_at, 1 << 62) > {at}"""
compare_objects(alive)
for one in alive:
    if "state" in one and one["state"] != state_there(*one["object"].split("/")):
        fail(f"{one['object']}: {one['state']}, there {state_there(*one['object'].split('/'))}")
    for request in one["completed"]:
        if not re.match("success", request["status"]):
            fail(f"{one['object']}: {request}")
compare_requests(alive)
compare_completions(alive)
