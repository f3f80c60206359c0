# Traces in a cluster of ClickHouse, four servers of Debian's package on this machine: it answers as
# `verbatim sql` does, and says so if a server is missing. TRACES=256: so many traces.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
needs "$apps/every_verb" "$apps/depth" "$VERBATIM"
export PATH=$PATH:/usr/sbin
type clickhouse-server clickhouse-client >out 2>&1 ||
	{ skip "ClickHouse" "not installed: scripts/install-deps lake"; exit 0; }

"$VERBATIM" record -q --check -o every.db -- "$apps/every_verb" >out 2>&1
"$VERBATIM" record -q -o depth.db -- "$apps/depth" rc 11 >out 2>&1
"$VERBATIM" record -q -o both.db -- "$both" ibv_rc_pingpong -n 300 >out 2>&1 || exit 1
traces=(every.db depth.db both.db)
for ((i = 3; i < ${TRACES:-3}; i++)); do
	cp ${traces[i % 3]} "$i.db" && traces+=("$i.db")
done

ports=()
port=$((port + 10))
for i in 0 1 2 3; do ports+=($((port + 3 * i))); done
python3 "$root/tests/e2e/lake/servers.py" "$tmp/servers" "${ports[@]}" || exit 1
servers=()
for i in 0 1 2 3; do
	clickhouse-server --config-file="$tmp/servers/$i/config.xml" >"servers/$i/out" 2>&1 &
	servers+=($!)
	disown $! # else stop_all() ends it
done
trap 'kill -KILL "${servers[@]}" 2>/dev/null; rm -rf "$tmp"' EXIT
ask() { clickhouse-client --port "${ports[$1]}" --query "$2"; }

servers_are_filled() {
	local i
	"$VERBATIM" export -f clickhouse -o rows "${traces[@]}" || return
	for i in 0 1 2 3; do
		await ask $i "SELECT 1" >out &&
			clickhouse-client --port "${ports[i]}" -n <rows/schema.sql || return
	done
	sh rows/load.sh --port "${ports[0]}" &&
		for i in 0 1 2 3; do ask $i "SELECT count() FROM requests_local"; done >counts &&
		is "several servers have rows" "$(($(grep -vcx 0 counts) > 1))" 1
}
try servers_are_filled

twelve_questions_have_the_same_answers() {
	python3 "$root/tests/e2e/lake/questions.py" "$VERBATIM" "${ports[1]}" "${traces[@]}"
}
try twelve_questions_have_the_same_answers

# With all of its threads, which may still answer when the first of them has ended.
gone() {
	[ "$(ls "/proc/${servers[3]}/task" 2>/dev/null | wc -l)" -le 1 ] && ! listens "${ports[3]}"
}
a_missing_server_is_said() {
	kill -KILL "${servers[3]}"
	await gone || return
	# it may print the count of the others before it fails
	! ask 0 "SELECT count() FROM requests" >out 2>err || { cat out; return 1; }
	says "All connection tries failed" err && says "127.0.0.1:${ports[3]}" err
}
try a_missing_server_is_said
exit $failed
