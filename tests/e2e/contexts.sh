# Verbs in places where a recorder could deadlock with itself, and whether their stacks are correct
# there.
. tests/e2e/lib/try.sh

record() { rm -f "$t"; timeout 60 "$VERBATIM" record -q -o "$t" -- "$@"; }

# a library whose constructor and destructor call back
gcc -g -shared -fPIC -o "$tmp/hook.so" tests/e2e/contexts/hook.c || exit 1
export LIBRARY=$tmp/hook.so

# output and exit status are as without the recorder; each post has its place
is_as_ever() {
	timeout 60 "$VERBATIM" run -- "$1" "$2" >"$tmp/plain" 2>&1 ||
		{ cat "$tmp/plain"; return 1; }
	record "$1" "$2" >"$tmp/recorded" 2>"$tmp/said" ||
		{ echo "recorded: status $?"; cat "$tmp/recorded" "$tmp/said"; return 1; }
	diff "$tmp/plain" "$tmp/recorded" &&
		is "$(sql "SELECT count(*) FROM post WHERE stack IS NULL")" 0 &&
		is "$(sql "SELECT count(*) FROM call WHERE end IS NULL")" 0 &&
		[ "$(sql "SELECT count(*) FROM post")" -gt 0 ]
}

for context in loader constructor handler exit fork dlopen; do
	try $context is_as_ever "$apps/contexts" $context
done

# the same with ThreadSanitizer; the device re-creates its locks in a child, which looks like a held
# lock
gcc -g -O1 -I. -D_GNU_SOURCE -fsanitize=thread -o "$tmp/tsan" tests/apps/contexts.c -libverbs \
	-ldl || exit 1
for context in loader constructor exit fork dlopen; do
	TSAN_OPTIONS="die_after_fork=0 detect_deadlocks=0" try "$context with ThreadSanitizer" \
		is_as_ever "$tmp/tsan" $context
done

# functions of a stack, outermost first, up to main
functions() {
	"$VERBATIM" dump "$t" "$1" | sed -n '/^called from/,$s/^  #[0-9]* *\([a-z_]*\).*/\1/p' |
		sed '/^main$/q' | tac | tr '\n' ' '
}
of_wr() {
	functions "$(sql "SELECT event(thread, n)
		FROM wr WHERE wr_id = $1 ORDER BY time LIMIT 1 OFFSET $2")"
}

callers_alike_are_told_apart() {
	record "$apps/sites" || return
	for again in 0 1; do
		is "$(of_wr 1 $again)" "main red helper post_one ibv_post_recv " &&
			is "$(of_wr 2 $again)" "main green helper post_one ibv_post_recv " &&
			is "$(of_wr 3 $again)" "main blue post_one ibv_post_recv " || return
	done
	is "$(sql "SELECT count(DISTINCT stack) FROM post")" 3 &&
		is "$(sql "SELECT count(*)
			FROM wr w JOIN stack s ON s.id = w.stack WHERE s.depth > 3")" 6
}
try "callers that look alike are told apart" callers_alike_are_told_apart

# 2 to 1201 levels: places are counted, and an excess is reported
places_are_bounded() {
	record "$apps/sites" 1200 || return
	is "$(sql "SELECT count(*) FROM post")" 1206 &&
		is "$(sql "SELECT count(*) FROM post WHERE stack IS NULL")" 179 &&
		is "$(sql "SELECT count(*) FROM coverage WHERE what = 'sites'")" 1
}
try "places are bounded and what is too much is told" places_are_bounded

# no request was lost by that
payload_needs_no_places() {
	VERBATIM_PAYLOAD=full record "$apps/sites" 1200 message || return
	is "$(sql "SELECT count(*) FROM coverage WHERE what = 'sites'")" 1 &&
		is "$(sql "SELECT kind, captured, why FROM payload")" "send|8|
recv|8|"
}
try "payload is captured where places are too many" payload_needs_no_places

for name in first second; do
	gcc -g -O2 -shared -fPIC -DPOST=post_from_$name -DREGISTER=register_from_$name -o \
		"$tmp/$name.so" \
		"$root/tests/e2e/contexts/plugin.c" -libverbs || exit 1
done
export FIRST=$tmp/first.so SECOND=$tmp/second.so

# how often each function called the verb, in the order of time
callers() {
	local event
	for event in $(sql "$1"); do functions "$event"; echo; done | grep -o "[a-z]*_from_[a-z]*" |
		uniq -c | awk '{ print $2 " " $1 }' | tr '\n' ' '
}

module_of_its_time_is_meant() {
	is "$(record "$apps/plugins")" "same place" || return
	is "$(sql "SELECT group_concat(substr(path, -9), ' ') FROM (SELECT path FROM module
		WHERE path LIKE '%first.so' OR path LIKE '%second.so' ORDER BY time)")" \
		"/first.so second.so /first.so" &&
		is "$(callers "SELECT event(thread, n) FROM post ORDER BY time")" \
			"post_from_first 2 post_from_second 2 post_from_first 2 " &&
		is "$(callers "SELECT event(thread, n)
			FROM call WHERE verb = 'ibv_reg_mr' ORDER BY begin")" \
			"register_from_first 2 register_from_second 2 register_from_first 2 "
}
try "a file at the place of another is told from it" module_of_its_time_is_meant

# Without optimisation, ibv_post_send() of the header is a function with a frame of its own.
failed_request_says_where_it_was_posted() { # program
	local part='/^queue pairs in error/,/^failed verbs/p'
	record "$1" && "$VERBATIM" check "$t" | sed -n "$part" >"$tmp/first" &&
		tr -s ' \n' ' ' <"$tmp/first" | grep -q "post_writes (first_error.c:[0-9]*)" &&
		is "$("$VERBATIM" check --format json "$t" | python3 -c 'import json, sys
stack = json.load(sys.stdin)["first_errors"][0]["stack"]
print([frame["function"] for frame in stack][0])')" post_writes &&
		"$VERBATIM" unpack -o "$tmp/plain.db" "$t" && "$VERBATIM" check "$tmp/plain.db" |
		sed -n "$part" | diff - "$tmp/first"
}
try "a failed request says where it was posted" failed_request_says_where_it_was_posted \
	"$apps/first_error"
${CC:-cc} -O0 -g -I. -o "$tmp/first_error" tests/apps/first_error.c -libverbs -lpthread
try "a failed request says where it was posted, not optimised" \
	failed_request_says_where_it_was_posted "$tmp/first_error"
