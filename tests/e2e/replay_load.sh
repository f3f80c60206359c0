# A replay as load: the traffic of a trace or of a text at its times, with more ranks, other sizes,
# two at once. Rates and sizes are measured in a recording of the run.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

load() { timeout 120 "$VERBATIM" replay -q --threads serial -f json "$@" >out 2>err; }
# The members of the report that are named.
of() { jq -c "[$1]" out; }
is_clean() { is "$(of '.errors, .issued == .planned, .completed == .issued,
	.received == .messages, .in_time + .queue_full == .issued')" "[0,true,true,true,true]"; }

a_recording() {
	record_both_sides -n 200 && "$VERBATIM" merge -o both.db s.db t.db >out 2>&1
}

# The requests of both ends, with their sizes.
open_loop_repeats_the_traffic() {
	a_recording && load --open-loop both.db || { cat err; return 1; }
	is_clean && is "$(of '.ranks, .senders, .planned, .planned_bytes')" \
		"[2,2,400,$((400 * 4096))]" &&
		"$VERBATIM" replay -q --open-loop both.db >text && says 'none failed$' text &&
		says '^  lateness    p50 .*, p99 .*, max .*, of [0-9]* requests$' text
}

the_pace_applies() {
	load --open-loop both.db && local planned=$(jq .planned_ns out) &&
		load --open-loop --pace x2 both.db || { cat err; return 1; }
	is "$(jq .planned_ns out)" $((planned / 2))
}

# What the other end sent is inferred from what arrived.
one_end_is_enough() {
	load --open-loop t.db || { cat err; return 1; }
	is_clean && is "$(of '.ranks, .outside, .planned')" "[2,1,400]"
}

a_part_is_sent() {
	"$VERBATIM" trim -o part.db --last 400 both.db >out &&
		"$VERBATIM" model part.db >model 2>err &&
		sed -n 's/^# .*: \([0-9]*\) requests.*/\1/p' model >n &&
		load --open-loop --last 400 both.db || { cat err; return 1; }
	is_clean && is "$(jq .planned out)" "$(cat n)" && is "$(cat err)" "" &&
		[ "$(cat n)" -lt 400 ]
}

# Whatever a trace has, its traffic is sent, or there is none.
every_trace_of_the_suite_is_sent() {
	local trace sent=0
	for trace in "$root"/tests/conformance/soft/*.db; do
		if load --open-loop "$trace"; then
			is_clean && sent=$((sent + 1)) || { echo "$trace"; return 1; }
		else
			is "status" $? 3 && is "lines" "$(wc -l <err)" 1 &&
				says ' has no requests that move bytes' err || return
		fi
	done
	[ $sent -gt 30 ] || { echo "only $sent"; return 1; }
}

a_text() { # flows
	printf 'model 1\nranks 8\n' && cat
}

# The rate: how far the least delay drifts from the first quarter to the last. A busy machine delays
# many requests, but not all of a quarter.
rate_is() { # per second, of the requests of that size
	"$VERBATIM" sql run.db "SELECT post.time FROM wr JOIN post USING (thread, n)
		WHERE opcode != -1 AND bytes = $2 ORDER BY post.time" >times || return
	awk -v rate="$1" 'function least(from, to,   i, d, min) {
			min = 1e18
			for (i = from; i <= to; i++) {
				d = t[i] - i * 1e9 / rate
				if (d < min) min = d
			}
			return min
		}
		{ t[NR] = $1 }
		END {
			drift = least(int(NR * .75), NR) - least(1, int(NR * .25))
			drift /= (t[NR] - t[1]) * .5
			if (drift > .02 || drift < -.02) {
				print "rate differs by " 100 * drift " % (" NR " requests)"; exit 1
			}
		}' times
}

shares_are() { # "OPCODE BYTES SHARE" lines
	"$VERBATIM" sql run.db "SELECT opcode_name, bytes, count(*) FROM wr
		WHERE opcode != -1 GROUP BY 1, 2" >counts || return
	tr '|' ' ' <counts | awk '
		NR == FNR { want[$1 " " $2] = $3; next }
		{ got[$1 " " $2] = $3; sum += $3 }
		END {
			for (k in got) if (!(k in want)) { print "unexpected: " k; bad = 1 }
			for (k in want) {
				d = got[k] / sum / want[k] - 1
				if (d > .02 || d < -.02) { print k " differs by " d; bad = 1 }
			}
			exit bad
		}' wanted -
}

# Of a thousand requests, within 2 %.
rate_and_sizes_are_those_of_the_model() {
	a_text <<-'END' >load.txt
		flow 0>1
		  requests 1000
		  rate 2000/s
		  send SEND 64 75%
		  send RDMA_WRITE 4k 25%
		flow 1>0
		  requests 500
		  rate 1000/s
		  send RDMA_READ 1k 100%
	END
	load --record run.db load.txt || { cat err; return 1; }
	cat >wanted <<-'END'
		IBV_WR_SEND 64 .5
		IBV_WR_RDMA_WRITE 4096 .16666
		IBV_WR_RDMA_READ 1024 .33333
	END
	is_clean && rate_is 1000 1024 && shares_are
}

a_model_of_the_run_is_the_model() {
	load --processes --record run.db load.txt && "$VERBATIM" model run.db >again.txt &&
		grep -E '^ *(flow|transport|requests|send)' again.txt | tr -s ' ' >lines || return
	diff - lines <<-'END'
		flow 0>1
		 transport RC
		 requests 1000
		 send RDMA_WRITE 4k 25%
		 send SEND 64 75%
		flow 1>0
		 transport RC
		 requests 500
		 send RDMA_READ 1k 100%
	END
}

an_edited_model_is_replayed() {
	"$VERBATIM" model -o pingpong.txt both.db &&
		sed -i 's/rate .*/rate 4000\/s/; s/SEND 4k/RDMA_WRITE 64/' pingpong.txt &&
		load pingpong.txt || { cat err; return 1; }
	is_clean && is "$(of '.planned, .planned_bytes, .messages')" "[400,$((400 * 64)),0]" &&
		jq -e '.planned_ns > 49e6 and .planned_ns < 52e6' out >/dev/null
}

all_transports_and_operations_run() {
	a_text <<-'END' >all.txt
		flow pairs
		  transport UC
		  requests 50
		  rate 5000/s
		  send SEND_WITH_IMM 0 1
		  send RDMA_WRITE 100000 1
		flow to-root x2
		  transport UD
		  requests 50
		  rate 5000/s
		  depth 64
		  signal 1/8
		  send SEND 1000 1
		flow hypercube
		  requests 50
		  rate 5000/s
		  send RDMA_WRITE_WITH_IMM 5 1
		  send RDMA_READ 70000 1
		  send ATOMIC_FETCH_AND_ADD 8 1
		  send ATOMIC_CMP_AND_SWP 8 1
	END
	load all.txt || { cat err; return 1; }
	is_clean && is "$(of .senders)" "[$((8 + 14 + 24))]"
}

# The same traffic, whether one thread sends it, or a thread or a process for each rank.
workers_may_be_threads_or_processes() {
	local how
	for how in "--threads recorded" --processes; do
		load $how all.txt || { cat err; return 1; }
		is_clean && is "$how" "$(of .planned)" "[2300]" || return
	done
}

sixteen_ranks() {
	a_text <<-'END' | sed 's/ranks 8/ranks 16/' >ring.txt
		flow ring
		  requests 40
		  rate 1000/s
		  send SEND 1k 1
		flow binomial-up
		  requests 20
		  rate 1000/s
		  send RDMA_WRITE 64 1
	END
	load --processes --record ring.db ring.txt
}

sixteen_ranks_become_64() {
	sixteen_ranks || { cat err; return 1; }
	is "$("$VERBATIM" model ring.db | grep '^flow' | cut -d' ' -f1,2 | sort)" \
		$'flow binomial-up\nflow ring' &&
		load --scale-ranks 4 ring.db || { cat err; return 1; }
	is_clean && is "$(of '.ranks, .senders')" "[64,$((64 + 63))]" &&
		is "$(of .planned)" "[$((64 * 40 + 63 * 20))]"
}

ranks_without_a_pattern_are_refused() {
	load --scale-ranks 4 both.db; is "status" $? 3 &&
		says '^verbatim: --scale-ranks: with 2 ranks (0>1, 1>0) .*verbatim model' err &&
		a_text <<-'END' >odd.txt
			flow 0>1 1>2 2>5
			  requests 1
			  send SEND 8 1
		END
	load --scale-ranks 2 odd.txt; is "status" $? 3 &&
		says '^verbatim: --scale-ranks: 3 of 3 senders (0>1, 1>2, 2>5), with 100.0 %' err
}

sizes_are_multiplied() {
	load --size x2.5 both.db || { cat err; return 1; }
	is_clean && is "$(of .planned_bytes)" "[$((400 * 10240))]"
}

two_are_mixed_in_proportion() {
	a_text <<-'END' >a.txt
		flow ring
		  requests 20
		  rate 1000/s
		  send SEND 64 1
	END
	a_text <<-'END' >b.txt
		flow 0>1 1>2
		  requests 100
		  rate 500/s
		  send RDMA_WRITE 1k 1
	END
	load --record run.db --mix a.txt:3,b.txt:1 || { cat err; return 1; }
	printf '%s\n' "IBV_WR_SEND 64 .75" "IBV_WR_RDMA_WRITE 1024 .25" >wanted
	is_clean && is "$(of .ranks)" "[16]" && shares_are
}

a_full_queue_is_reported() {
	a_text <<-'END' >full.txt
		flow 0>1
		  requests 100
		  rate 1000000/s
		  depth 1
		  send RDMA_WRITE 4M 1
	END
	load full.txt || { cat err; return 1; }
	is_clean && jq -e '.queue_full > 50' out >/dev/null &&
		"$VERBATIM" replay -q full.txt >text &&
		says '^  delayed     [0-9]* requests: send queue full, .* (rank 0 to 1)$' text
}

a_failed_request_is_reported() {
	echo 'opcode=SEND n=5 status=RETRY_EXC_ERR' >faults
	VERBATIM_SOFT_FAULTS=$PWD/faults load load.txt
	is "status" $? 1 && is "$(of '.errors > 0, .first_error')" '[true,"RETRY_EXC_ERR"]'
}

the_deadline_ends_it() {
	sed 's/rate .*/rate 10\/s/' load.txt >slow.txt && load --deadline 100ms slow.txt
	is "status" $? 3 && is "$(of .partial)" '["ended by --deadline"]'
}

a_signal_ends_it() { # once the load catches it
	"$VERBATIM" replay -q -f json slow.txt >out 2>err & local pid=$!
	await catches_term $pid && kill -TERM $pid
	wait $pid; is "status" $? 143 && is "$(of .partial)" '["ended by a signal"]'
}
catches_term() {
	local child=$(pgrep -P "$1")
	[ -n "$child" ] && grep -qE '^SigCgt:.*[4567cdef][0-9a-f]{3}$' "/proc/$child/status"
}

mistakes_are_explained() {
	printf 'model 1\nranks 2\nflow 0>1\nrate fast\n' >bad.txt
	load bad.txt; is "status" $? 3 && says '^verbatim: bad.txt:4: the rate of each' err &&
		{ load --loop 2 load.txt; is "status" $? 2; } && says 'compares nothing' err &&
		{ load --mix a.txt:3,b.txt:x; is "status" $? 2; } && says 'TRACE:N\[,TRACE:N' err &&
		{ load --max-memory 1M --size x1000 load.txt; is "status" $? 3; } &&
		says 'need [0-9]* MiB of memory: increase --max-memory' err &&
		{ load --from 1:1 load.txt; is "status" $? 2; } && says 'no events' err &&
		{ load --mix a.txt:1,none.txt:1; is "status" $? 4; } && says 'none.txt' err
}

the_manual_lists_all_patterns() {
	local each
	for each in $(sed -n 's/^.*\[LOAD_[A-Z_]*\] *= { "\([a-z0-9-]*\)".*/\1/p' \
		"$root/replay/load/load_pattern.c"); do
		says "^\.It Cm $each\$" "$root/docs/man/verbatim-model.1" || return
	done
	is "last" "$each" self
}

try open_loop_repeats_the_traffic
try the_pace_applies
try one_end_is_enough
try a_part_is_sent
try every_trace_of_the_suite_is_sent
try rate_and_sizes_are_those_of_the_model
try a_model_of_the_run_is_the_model
try an_edited_model_is_replayed
try all_transports_and_operations_run
try workers_may_be_threads_or_processes
try sixteen_ranks_become_64
try ranks_without_a_pattern_are_refused
try sizes_are_multiplied
try two_are_mixed_in_proportion
try a_full_queue_is_reported
try a_failed_request_is_reported
try the_deadline_ends_it
try a_signal_ends_it
try mistakes_are_explained
try the_manual_lists_all_patterns
exit $failed
