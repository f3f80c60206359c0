# Only data that `record --help` lists is recorded, readable by its owner alone.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
umask 0

tidy() { rm -rf "$tmp"/*.db* "$tmp"/out "$tmp"/sessions/* "$tmp"/d "$tmp"/r*; }
record() { "$VERBATIM" record -q "$@"; }

help_says_what_is_recorded() {
	"$VERBATIM" record --help | tr -s '\n' ' ' >out
	says "command line with all arguments" out && says "It does not have the environment" out &&
		says "name and kernel of this machine" out &&
		says "private data of connections" out && says "mode 0600" out
}

# an argument is in the trace, the environment is not, packed or unpacked, except variables of RDMA
# libraries
arguments_are_recorded_and_the_environment_is_not() {
	TOKEN=env-8d1f0c UCX_TLS=env-22a6b1 record --payload full -o t.db bash -c \
		"ibv_devinfo >/dev/null; : arg-41c7b2" || return
	"$VERBATIM" unpack -o u.db t.db && grep -aq arg-41c7b2 u.db && grep -aq arg-41c7b2 t.db &&
		! grep -aq env-8d1f0c t.db && ! grep -aq env-8d1f0c u.db &&
		"$VERBATIM" info t.db >out && says "UCX_TLS *env-22a6b1" out
}

# guest ends with 2 because of the arguments that it does not know
# what a trace has of texts that may identify somebody; the program is started by its path
texts() {
	grep -aq "$1" "$2" && echo -n "$1 "
}
redaction_is_by_the_list() {
	local host; host=$(uname -n)
	mkdir -p d/who-41c7b2 && cp "$apps/guest" d/who-41c7b2/app-5e0d77 || return
	for list in argv env paths host argv,env,host,paths; do
		UCX_TLS=env-22a6b1 record -d soft --redact $list -o t.db \
			d/who-41c7b2/app-5e0d77 calls 1 arg-8d1f0c --to=$host
		"$VERBATIM" unpack -o u.db t.db || return
		for t in t.db u.db; do
			is "$list: $(texts arg-8d1f0c $t; texts env-22a6b1 $t
				texts who-41c7b2 $t; texts "=$host" $t)" "$list: $(case $list in
				argv) echo -n "env-22a6b1 who-41c7b2 " ;;
				env) echo -n "arg-8d1f0c who-41c7b2 =$host " ;;
				paths) echo -n "arg-8d1f0c env-22a6b1 =$host " ;;
				host) echo -n "arg-8d1f0c env-22a6b1 who-41c7b2 " ;;
				esac)" || return
		done
		rm -f u.db
	done
	is "$("$VERBATIM" sql t.db "SELECT value FROM meta WHERE key = 'host'")" host1
}
passwords_are_not_recorded() {
	record -d soft -o t.db "$apps/guest" calls 1 --password=key-5e0d77 -p key-5e0d77 \
		https://me:key-5e0d77@host arg-8d1f0c
	! grep -aq key-5e0d77 t.db && grep -aq arg-8d1f0c t.db || return
	record -d soft --redact none -o t.db "$apps/guest" calls 1 --password=key-5e0d77
	grep -aq password=key-5e0d77 t.db
}

# the key of a replay on two hosts may be set in the shell of the recording
keys_are_not_recorded() {
	VERBATIM_REPLAY_KEY=key-5e0d77 NCCL_COMM_ID=key-5e0d77 UCX_TCP_TOKEN=key-5e0d77 \
		NCCL_NET=https://me:key-5e0d77@host UCX_TLS=env-22a6b1 record -o t.db \
		ibv_devinfo >out || return
	"$VERBATIM" info t.db >out && says "UCX_TLS *env-22a6b1" out &&
		! grep -aq key-5e0d77 t.db && "$VERBATIM" unpack -o u.db t.db &&
		! grep -aq key-5e0d77 u.db
}

# a version without the list of allowed variables left it in its traces
keys_of_old_traces_are_not_passed_on() {
	UCX_TLS=env-22a6b1 record -o t.db ibv_devinfo >out && cp t.db one.db || return
	sqlite3 t.db "INSERT INTO environ VALUES(1, 'VERBATIM_REPLAY_KEY', 'key-5e0d77')"
	grep -aq key-5e0d77 t.db || return
	"$VERBATIM" info t.db >out && says 'VERBATIM_REPLAY_KEY *(not shown)' out &&
		says "UCX_TLS *env-22a6b1" out || return
	"$VERBATIM" report -o r.html t.db && "$VERBATIM" bundle -o r.bundle t.db >r.list &&
		"$VERBATIM" bundle -a -o ra.bundle t.db >>r.list &&
		"$VERBATIM" unbundle r.bundle >out &&
		"$VERBATIM" unbundle ra.bundle >out && "$VERBATIM" trim -o trim.db t.db 2>out &&
		"$VERBATIM" merge -o merged.db t.db one.db 2>out &&
		"$VERBATIM" diff t.db one.db >r.diff
	! grep -alr key-5e0d77 r.html r.list r r.bundle ra.bundle ra trim.db merged.db r.diff &&
		is "in the bundle" "$("$VERBATIM" sql r/trace.db "SELECT name, value FROM environ
			WHERE name IN ('UCX_TLS', 'VERBATIM_REPLAY_KEY') ORDER BY name")" \
			'UCX_TLS|env-22a6b1
VERBATIM_REPLAY_KEY|(not shown)'
}

the_page_has_the_list_of_variables() {
	is "variables of verbatim-record(1)" \
		"$(sed -n '/^Only these environment/,/^\.El/p' "$root/docs/man/verbatim-record.1" |
			grep -oE '[A-Z0-9]+_[^ ,]+|\<RANK\>' | sort)" \
		"$(sed -n '/recorded\[\] = {/,/^};/p; /launchers\[\] = {/,/^};/p' \
			"$root"/core/wire/{variable,launcher}.c |
			grep -oE '"[A-Z0-9]+_[^"]*"|"RANK"' | tr -d '"' | sort)"
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

# the mode of an existing file is the user's choice
report_that_is_there_keeps_its_mode() {
	head -c 1000000 /dev/zero >r.json && chmod 640 r.json && record -o t.db ibv_devinfo >out &&
		"$VERBATIM" replay --report r.json t.db >out 2>&1 &&
		is "$(stat -c %a r.json)" 640 && python3 -m json.tool r.json >out
}

# a device is not replaced by a file
report_goes_through_what_is_no_file() {
	record -o t.db ibv_devinfo >out && "$VERBATIM" replay --report /dev/null t.db >out 2>&1 &&
		is "$(stat -c %F /dev/null)" "character special file" &&
		"$VERBATIM" replay --report /dev/stdout t.db 2>&1 | cat >out &&
		says '"divergences"' out &&
		"$VERBATIM" replay --report >(cat >r.pipe) t.db >out 2>&1 &&
		await grep -q '"divergences"' r.pipe
}

for each in help_says_what_is_recorded arguments_are_recorded_and_the_environment_is_not \
	redaction_is_by_the_list passwords_are_not_recorded \
	keys_are_not_recorded keys_of_old_traces_are_not_passed_on \
	the_page_has_the_list_of_variables traces_are_for_their_owner \
	what_is_collected_is_for_its_owner report_is_for_its_owner \
		report_that_is_there_keeps_its_mode \
	report_goes_through_what_is_no_file; do
	try $each
done
