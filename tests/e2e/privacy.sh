# What is recorded of a program is what `record --help` says, for its owner's eyes only.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
umask 0

tidy() { rm -rf "$tmp"/*.db* "$tmp"/out "$tmp"/sessions/* "$tmp"/d "$tmp"/r*; }
record() { "$VERBATIM" record -q "$@"; }

help_says_what_is_recorded() {
	"$VERBATIM" record --help | tr -s '\n' ' ' >out
	says "command line with all arguments" out && says "Not the environment" out &&
		says "machine's name" out &&
		says "private data of connections" out && says "mode 0600" out
}

# an argument is in the trace, the environment nowhere, packed or not; what RDMA libraries read is
arguments_are_recorded_and_the_environment_is_not() {
	TOKEN=env-8d1f0c UCX_TLS=env-22a6b1 record --payload full -o t.db bash -c \
		"ibv_devinfo >/dev/null; : arg-41c7b2" || return
	"$VERBATIM" unpack -o u.db t.db && grep -aq arg-41c7b2 u.db && grep -aq arg-41c7b2 t.db &&
		! grep -aq env-8d1f0c t.db && ! grep -aq env-8d1f0c u.db &&
		"$VERBATIM" info t.db >out && says "UCX_TLS *env-22a6b1" out
}

only_ours() { # files
	local f
	for f in "$@"; do is "mode of $f" "$(stat -c %a "$f")" 600 || return; done
}

traces_are_for_their_owner() {
	record -o t.db --flight 1M bash -c \
		"ibv_devinfo >/dev/null; '$VERBATIM' snapshot \$PPID
		stat -c '%a %n' *.db* >out; ibv_devinfo >/dev/null" || return
	is "$(cut -d' ' -f1 out | sort -u)" 600 && says 't.db-wal' out &&
		"$VERBATIM" unpack -o u.db t.db && only_ours *.db
}

what_is_collected_is_for_its_owner() {
	VERBATIM_DIR=$tmp/d LD_PRELOAD="$libs/libverbatim.so:$libs/libverbatim-soft.so" \
		ibv_devinfo >/dev/null &&
		only_ours d/* && "$VERBATIM" collect -o t.db d >/dev/null 2>&1 && only_ours t.db
}

report_is_for_its_owner() {
	record -o t.db ibv_devinfo >out && "$VERBATIM" replay --report r.json t.db >out 2>&1 &&
		only_ours r.json && says '^{' r.json
}

# who made a file for it has chosen its mode
report_that_is_there_keeps_its_mode() {
	head -c 1000000 /dev/zero >r.json && chmod 640 r.json && record -o t.db ibv_devinfo >out &&
		"$VERBATIM" replay --report r.json t.db >out 2>&1 &&
		is "$(stat -c %a r.json)" 640 && python3 -m json.tool r.json >out
}

# a device is not a file to be made anew
report_goes_through_what_is_no_file() {
	record -o t.db ibv_devinfo >out && "$VERBATIM" replay --report /dev/null t.db >out 2>&1 &&
		is "$(stat -c %F /dev/null)" "character special file" &&
		"$VERBATIM" replay --report /dev/stdout t.db 2>&1 | cat >out &&
		says '"divergences"' out &&
		"$VERBATIM" replay --report >(cat >r.pipe) t.db >out 2>&1 &&
		await grep -q '"divergences"' r.pipe
}

for each in help_says_what_is_recorded arguments_are_recorded_and_the_environment_is_not \
	traces_are_for_their_owner \
	what_is_collected_is_for_its_owner report_is_for_its_owner \
		report_that_is_there_keeps_its_mode \
	report_goes_through_what_is_no_file; do
	try $each
done
