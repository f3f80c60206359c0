# What runs for a long time takes few bytes, and the last part of it is whole: events that are
# awaited, memory that is registered again and again, and clients that come and go.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

size=$((512 << 10))
ask() { "$VERBATIM" sql t.db "$1" 2>/dev/null; }

# These limits are documented; the number of events has no part in them.
is_bounded() {
	local peak log memory
	read -r peak log memory <sizes
	[ "$peak" -le $((size * 11 / 10)) ] && [ "$log" -le $((2 * size)) ] &&
		[ "$memory" -le $(((48 << 10) + 10 * size / 1024)) ] ||
		{ echo "the file had $peak bytes, its log $log, memory $memory KiB"; return 1; }
}

is_whole() {
	"$VERBATIM" check t.db >out 2>&1; is "check $?" "check 0" || { cat out; return 1; }
	"$VERBATIM" info t.db >out 2>&1 && says ^OVERWRITTEN out || { cat out; return 1; }
}

replays() {
	timeout $((200 + 3000 / ${HOUR:-30})) \
		"$VERBATIM" replay t.db >out 2>&1; is "replay $?" "replay 0" &&
		says "^no divergence" out || { cat out; return 1; }
}

# More calls are in blocks than could be rows of such a file, and what is in blocks and chunks takes
# at most 4 B an event, which is half of a call.
takes_few_bytes() { # least number of events
	local n bytes="(SELECT ifnull(sum(length(data)), 0) FROM"
	local chunked="(SELECT ifnull(sum(events), 0) FROM chunk)"
	n=$(ask "SELECT sum(thread.events - ifnull(overwritten, 0)) FROM thread
		LEFT JOIN loss ON loss.thread = thread.id")
	[ "$n" -ge "$1" ] || { echo "$n events in $(stat -c %s t.db) bytes"; return 1; }
	n=$(ask "SELECT 100 * ($bytes chunk) + $bytes call_chunk) + $bytes row_chunk)) /
		(2 * sum(calls) + $chunked) FROM call_chunk")
	[ "$n" -le 400 ] || { echo "$n B for 100 events"; return 1; }
	n=$(ask "SELECT sum(calls) FROM call_chunk")
	is "$(ask "SELECT count(*) FROM call")" "$((n + $(ask "SELECT count(*) FROM main.call")))"
}

service() { # least number of events, WHAT N
	python3 "$root/tests/e2e/flight/peak.py" t.db "$VERBATIM" record -q --flight 512k \
		-o t.db -- "$apps/cm_services" "$2" "$3" >sizes 2>err || { cat err; return 1; }
	is_bounded && takes_few_bytes "$1" && is_whole
}

needs "$VERBATIM" "$apps/cm_services"
replayed() { service "$@" && replays; }
try "events" replayed 60000 events 50000
try_in_turn "regions" replayed 6000 regions 12000
try_in_turn "connections" replayed 6000 connections 1200

# Traces that a rotation begins have few rows, too: 10,000 events and more fit into one.
rotated() { # WHAT N
	local each
	rm -f t.db t.*.db
	"$VERBATIM" record -q --rotate-size 512k -o t.db -- "$apps/cm_services" "$1" "$2" || return
	ls t.db t.*.db >files
	[ "$(wc -l <files)" -ge 2 ] || { cat files; return 1; }
	for each in t.*.db; do
		[ "$(stat -c %s "$each")" -le $((size * 11 / 10)) ] ||
			{ ls -l t.*.db; return 1; }
	done
	cp "$each" t.db && takes_few_bytes 10000 &&
		"$VERBATIM" check t.db >out || { cat out; return 1; }
}
try_in_turn "connections, rotated" rotated connections 300

# Memory has the objects since the last cut, not those of a whole trace.
rotation_is_bounded() { # WHAT N
	local peak log memory
	python3 "$root/tests/e2e/flight/peak.py" t.db "$VERBATIM" record -q --rotate-size 2M \
		-o t.db -- "$apps/cm_services" "$1" "$2" >sizes 2>err || { cat err; return 1; }
	read -r peak log memory <sizes
	[ "$memory" -le $(((48 + 10 * 2) << 10)) ] || { echo "memory $memory KiB"; return 1; }
}
try_in_turn "memory of regions, rotated" rotation_is_bounded regions 90000

# An hour's equivalent of each, in 64 MB: 2800 events, 2500 registrations, 60 connections a second.
# HOUR=1 does that, HOUR=20 a 20th of it in a 20th of the size, and prints the sizes.
hour() { # WHAT N
	local limit=$(((64 << 20) / HOUR))
	python3 "$root/tests/e2e/services/flat.py" t.db "$limit" "$VERBATIM" record -q \
		--flight "$limit" -o t.db -- "$apps/cm_services" "$1" $(($2 * 3600 / HOUR)) >flat ||
		{ cat flat; return 1; }
	sed "s/^/    $1: /" flat >>sizes.txt
	echo "    $1: $(stat -c %s t.db) bytes," \
		"$(ask "SELECT count(*) FROM call") calls" >>sizes.txt
	is_whole
}
hour_replayed() { hour "$@" && replays; }
if [ -n "${HOUR:-}" ]; then
	try "an hour of events" hour_replayed events 2800
	try "an hour of regions" hour_replayed regions 2500
	try "an hour of connections" hour_replayed connections 60
	cat sizes.txt
fi
