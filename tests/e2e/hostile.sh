# Harm that a recorded program, or a user with access to its session's files, can do to the
# recorder, and vice versa.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

tidy() { rm -rf "$tmp"/*.db "$tmp"/out "$tmp"/err "$tmp"/counts "$tmp"/sessions/*; }
number() { od -An -tu8 -j"$1" -N8 counts | tr -d ' '; }
posted() { [ "$(number 8)" -gt "$1" ]; }
ended() { ! kill -0 "$1"; }
one_sentence() { [ "$(grep -c "$1" err)" = 1 ] || { cat err; return 1; }; }
# nor a sanitizer's report
sound() { ! grep -i 'sanitizer\|runtime error\|Segmentation' err || { cat err; return 1; }; }

cut_while_it_runs() {
	"$VERBATIM" record -o t.db "$apps/loop" counts 1000000 2>err & local pid=$!
	await posted 1000 && truncate -s "$1" sessions/*/$2 || return
	wait $pid; is $? 0 && is "$(number 8)" 1000000 && sound && "$VERBATIM" info t.db >out
}

cut_rings_end_no_process() {
	cut_while_it_runs 0 'ring.*' && one_sentence 'is damaged\|cannot be read'
}
half_a_ring_ends_no_process() { cut_while_it_runs 8192 'ring.*'; }
# its recorder is stopped, and has not opened one yet
rings_cut_before_they_were_read_are_reported() {
	"$VERBATIM" record -o t.db sh -c \
		"kill -STOP \$PPID; exec '$apps/loop' counts 50" 2>err & local pid=$!
	await posted 49 && truncate -s 0 sessions/*/ring.* && kill -CONT $pid || return
	wait $pid; is $? 0 && sound && one_sentence 'cannot be read: truncated' || return
	! grep 'called a verb' err && "$VERBATIM" info t.db >out &&
		says 'could not create a ring' out
}
cut_page_ends_no_process() { cut_while_it_runs 0 session; }

program_sees_its_own_signals() {
	local bus
	for bus in asks handles faults sends; do
		"$VERBATIM" run "$apps/bus" $bus 2>/dev/null; local alone=$?
		"$VERBATIM" record -q -o t.db "$apps/bus" $bus 2>err; is "$bus" $? $alone ||
			{ cat err; return 1; }
	done
}

# a program in the same session is recorded completely
corrupted_program_harms_nobody() {
	local seed=${VERBATIM_SEED:-$RANDOM}
	echo "VERBATIM_SEED=$seed"
	"$VERBATIM" record -o t.db sh -c \
		"'$apps/scribble' 3 $seed & '$apps/guest' calls 500 exit 0; wait" 2>err
	is $? 0 && sound && "$VERBATIM" info t.db >out 2>err || { cat out err; return 1; }
	is "$("$VERBATIM" sql t.db "SELECT count(*) FROM call c JOIN process p ON p.id = c.process
		WHERE p.exe LIKE '%/guest' AND verb = 'ibv_alloc_pd'
		AND NOT failed" 2>/dev/null)" 500 || return
	is "$("$VERBATIM" sql t.db "SELECT count(*) FROM call WHERE NOT json_valid(args)
		OR (out NOT NULL AND NOT json_valid(out))" 2>/dev/null)" 0 || return
	is "$("$VERBATIM" sql t.db "SELECT count(*) FROM coverage JOIN process p ON p.id = process
		WHERE what = 'damaged' AND p.exe LIKE '%/guest'" 2>/dev/null)" 0
}

try cut_rings_end_no_process
try rings_cut_before_they_were_read_are_reported
try half_a_ring_ends_no_process
try cut_page_ends_no_process
try program_sees_its_own_signals
try corrupted_program_harms_nobody
