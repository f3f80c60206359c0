# The additional stack of the program that recorded verbs use.
. tests/e2e/lib/try.sh
app=$apps/cm_stack
needs "$app"
cd "$tmp" || exit 1

# No verb uses more than $1 bytes, neither at the first call nor at the second. The program and the
# device are bound at once: otherwise the loader's use of the stack for them would hide ours.
adds_at_most() { # bytes, options of record
	local limit=$1; shift
	LD_BIND_NOW=1 "$VERBATIM" run -- "$app" >bare &&
		LD_BIND_NOW=1 "$VERBATIM" record -q -o t.db "$@" -- "$app" >recorded || return
	[ "$(wc -l <bare)" -gt 15 ] && paste -d' ' bare recorded | awk -v limit=$limit '
		$5 - $2 > limit || $6 - $3 > limit {
			print $1 ": " $5 - $2 " and " $6 - $3 " bytes more"; bad = 1 }
		END { exit bad }'
}

control_verbs_and_new_sites_take_little() { adds_at_most 1280; }
payload_takes_some_more() { adds_at_most 2304 --payload full && adds_at_most 2304 --payload hash; }
posts_and_polls_take_next_to_nothing() {
	adds_at_most 1280 && paste -d' ' bare recorded | awk '
		/^(post|poll|req)/ && $6 - $3 > 256 { print $1 ": " $6 - $3 " bytes more"; bad = 1 }
		END { exit bad }'
}
a_small_alternate_stack_is_enough() {
	"$VERBATIM" record -q -o t.db -- "$app" handler >out
	is "$?: $(tail -1 out)" "0: 0 bytes below the stack are spoilt"
}
# the callers are known nevertheless: from the handler through the signal frame to main
stacks_reach_over_it() {
	"$VERBATIM" record -q -o t.db -- "$app" handler >out &&
		is "$("$VERBATIM" sql t.db "SELECT count(*) > 0 FROM call c
			JOIN stack s ON s.id = c.stack
			WHERE c.verb = 'ibv_query_pkey' AND s.depth >= 6 AND c.n =
			(SELECT max(n) FROM call WHERE verb = 'ibv_query_pkey')")" 1 &&
		is "$("$VERBATIM" sql t.db "SELECT count(*) FROM post WHERE stack IS NULL")" 0
}

# librdmacm calls the verbs, and the recorder is in between
recorder_is_left_out_of_stacks() {
	local id
	"$VERBATIM" record -q -o t.db -- "$app" >out && id=$("$VERBATIM" sql t.db "SELECT
		min(c.thread || ':' || c.n) FROM call c JOIN frame f ON f.stack = c.stack
		JOIN module m ON m.id = f.module WHERE m.path LIKE '%/libverbatim.so'") &&
		"$VERBATIM" dump --all-frames t.db "$id" >all && "$VERBATIM" dump t.db "$id" >out ||
		return
	says wrappers_cm all && says '^  #0 ' out &&
		is "$(grep -c wrappers_cm out)" 0
}

try control_verbs_and_new_sites_take_little
try posts_and_polls_take_next_to_nothing
try payload_takes_some_more
try recorder_is_left_out_of_stacks
if "$VERBATIM" run -- "$app" handler >out; then
	try a_small_alternate_stack_is_enough
	try stacks_reach_over_it
else
	echo "skip stack: a small alternate stack is enough: not for the bare program here:" \
		"$(tail -1 out)"
fi
