# What a recorder that is always on signals: metrics, hooks, systemd, alerts.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
needs "$apps/stalled" "$apps/first_error" "$apps/refused" "$VERBATIM"
tidy() { rm -rf "$tmp"/t.db* "$tmp"/err "$tmp"/out "$tmp"/hook* "$tmp"/m.txt; }
export PATH=$PATH:$root/build/prometheus/usr/bin
examples=$root/docs/examples

# A program that stalls, recorded with @options, until done_stalling
stall() { # options...
	mkfifo go; "$VERBATIM" record -d soft -o t.db "$@" -- "$apps/stalled" <go >out 2>err &
	recorder=$!; exec 9>go; rm go
}
done_stalling() { echo >&9; exec 9>&-; wait $recorder; }
has() { grep -q "$@"; }

metrics_show_a_stall_while_it_lasts() {
	stall --metrics m.txt
	await has '^verbatim_group_oldest_request_seconds{device="verb.*type="RC",.*} [1-9]' m.txt
	local seen=$?
	done_stalling
	[ $seen = 0 ] && says '^# EOF' m.txt && says 'oldest_request_seconds{.*} 0\.0' m.txt &&
		says 'side="send"} 0$' m.txt && is "$(stat -c %a m.txt)" 600
}
metrics_never_replace_a_trace() {
	"$VERBATIM" record -q -d soft -o t.db "$apps/refused" >out 2>err; cp t.db good.db
	"$VERBATIM" record -q -d soft -o u.db --metrics t.db "$apps/refused" >out 2>err
	is $? 2 && says 'is a trace' err && cmp t.db good.db
}
# A port is no file, and an address is not chosen; the recorder would wait for the reader of a pipe.
metrics_are_refused() {
	local each
	mkfifo pipe
	for each in 9464 0.0.0.0:9464 localhost:9464 :99999 pipe; do
		"$VERBATIM" record -q -d soft -o t.db --metrics $each "$apps/refused" >out 2>err
		is "$each" $? 2 && says '--metrics' err || return
	done
	rm pipe
	[ ! -e t.db ] && ! ls | grep 9464
}
port_answers_whatever_clients_do() {
	stall --metrics :0
	await has 127.0.0.1 err
	local at; at=$(grep -o '127.0.0.1:[0-9]*' err)
	# 40 that say nothing, 1 that says too much
	for ((i = 0; i < 40; i++)); do eval "exec {slow[$i]}<>/dev/tcp/${at/://}"; done
	head -c 100000 /dev/zero >"/dev/tcp/${at/://}" 2>/dev/null
	await eval "curl -sf http://$at/metrics >m.txt && has type=.RC m.txt"
	local seen=$?
	local codes; codes=$(code() { curl -so /dev/null -w '%{http_code} ' "$@"; }
		code -X POST "http://$at/metrics"; code "http://$at/x"
		code -H Host:evil.example "http://$at/metrics")
	for fd in "${slow[@]}"; do eval "exec $fd>&-"; done
	done_stalling
	is "$seen $codes" "0 405 404 403 " && ! curl -sf http://$at/metrics &&
		says '^# EOF' m.txt
}

error_runs_the_hook_once() {
	"$VERBATIM" record -d soft -o t.db --on-error 'cat >>hook.json; env >hook.env' \
		"$apps/refused" >out 2>err
	# ETIMEDOUT by two verbs, EINVAL twice by one
	await eval 'is "$(jq -r "[.kind, .verb, .error] | join(\" \")" hook.json | sort)" \
		"verb ibv_create_ah ETIMEDOUT
verb ibv_modify_qp EINVAL
verb ibv_modify_qp ETIMEDOUT"' && says '^VERBATIM_KIND=verb$' hook.env &&
		! has LD_PRELOAD hook.env && is "$(jq -r .trace hook.json | sort -u)" t.db
}
facts_are_no_part_of_the_command() {
	mkdir -p d && cp "$apps/refused" 'd/$(touch hook.bad)' &&
		"$VERBATIM" record -d soft -o 't.db;touch hook.bad' --on-error 'cat >hook.json' \
			'd/$(touch hook.bad)' >out 2>err
	await [ -s hook.json ] && [ ! -e hook.bad ]; local status=$?
	rm -f t.db\;*; return $status
}
finding_runs_the_hook() {
	"$VERBATIM" record -q -d soft -o t.db --on-finding 'cat >hook.json' \
		"$apps/life_001" bad >out 2>err
	await [ -s hook.json ] && is "$(jq -r '.kind + " " + .rule' hook.json)" "finding LIFE-001"
}
hook_that_hangs_harms_nothing() {
	local from=$SECONDS
	"$VERBATIM" record -q -d soft -o t.db --on-error 'echo $$ >hook.pid; exec sleep 100' \
		"$apps/refused" >out 2>err
	[ $((SECONDS - from)) -lt 30 ] && await [ -s hook.pid ] && kill "$(cat hook.pid)"
}

systemd_hears_of_begin_and_end() {
	python3 - >out <<-END &
		import socket
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind("notify")
		while True:
		    m = s.recv(4096).decode().split("\n")[0]
		    print(m, flush=True)
		    if m == "STOPPING=1":
		        break
	END
	local listener=$!
	await [ -S notify ] || return
	NOTIFY_SOCKET=$tmp/notify WATCHDOG_USEC=300000 "$VERBATIM" record -q -d soft -o t.db \
		"$apps/first_error" 2>err
	wait $listener; rm -f notify
	is "$(grep -v WATCHDOG out | xargs)" "READY=1 STOPPING=1"
}

rules_are_rules() {
	promtool check rules "$examples/verbatim-alerts.yml" >out 2>&1 || { cat out; return 1; }
	says '8 rules found' out && cp "$examples"/{verbatim-alerts,prometheus}.yml . &&
		promtool check config prometheus.yml >out 2>&1 || { cat out; return 1; }
}
# by readers of the older text format, too, such as node_exporter
files_can_be_read() {
	"$VERBATIM" record -q -d soft -o t.db --metrics m.txt "$apps/first_error" >out 2>err
	promtool check metrics <m.txt >out 2>&1
	! grep 'error while' out
}
# each metric of the rules and of the dashboard is one that the recorder writes
rules_name_metrics_that_exist() {
	"$VERBATIM" record -q -d soft --check -o t.db --metrics m.txt "$apps/first_error" >out 2>err
	sed -n 's/^# TYPE \(verbatim_[a-z_]*\) .*/\1/p' m.txt >out
	grep -oh 'verbatim_[a-z_]*' "$examples"/verbatim-{alerts.yml,dashboard.json} | sort -u |
		sed -E 's/_(total|bucket|count|sum)$//' | while read -r each; do
			grep -qx "$each" out || echo "$each"
		done >err
	is "$(cat err)" "" && jq -e '.panels | length == 10' \
		"$examples/verbatim-dashboard.json" >out
}
# The alert fires at most 2 s after the stall was scraped
alert_fires_in_time() {
	next_port
	stall --metrics :0
	await has 127.0.0.1 err
	local at; at=$(grep -o '127.0.0.1:[0-9]*' err)
	sed "s/127.0.0.1:9464/$at/" "$examples/prometheus.yml" >prometheus.yml
	cp "$examples/verbatim-alerts.yml" .
	prometheus --config.file=prometheus.yml --storage.tsdb.path="$tmp/tsdb" \
		--web.listen-address=127.0.0.1:$port >prom.out 2>&1 &
	local server=$!
	ask() { curl -sf "http://127.0.0.1:$port/api/v1/query" --data-urlencode "query=$1"; }
	fires() { ask 'ALERTS{alertname="VerbatimStall",alertstate="firing"}' | has '"value"'; }
	await fires; local seen=$?
	local scraped alerted
	local stalled='verbatim_group_oldest_request_seconds > 1'
	scraped=$(ask "min_over_time(timestamp($stalled)[1m:100ms])" |
		jq -r '.data.result[0].value[1]')
	alerted=$(curl -sf "http://127.0.0.1:$port/api/v1/alerts" |
		jq -r '.data.alerts[0].activeAt' | xargs -I{} date -d {} +%s.%N)
	kill $server; wait $server 2>/dev/null
	done_stalling; rm -rf tsdb prom.out
	[ $seen = 0 ] &&
		is "$(echo "$alerted - $scraped <= 2" | bc)" 1
}

for each in metrics_show_a_stall_while_it_lasts metrics_never_replace_a_trace metrics_are_refused \
	port_answers_whatever_clients_do error_runs_the_hook_once \
	facts_are_no_part_of_the_command finding_runs_the_hook hook_that_hangs_harms_nothing \
	systemd_hears_of_begin_and_end rules_name_metrics_that_exist; do
	try $each
done
if type prometheus promtool >/dev/null 2>&1; then
	for each in rules_are_rules files_can_be_read alert_fires_in_time; do try $each; done
else
	skip "alerts of Prometheus" "not installed: scripts/install-deps production"
fi
