# A trace names files, from which names of functions are read: whatever they are, reading has no
# other effect.
. tests/e2e/lib/try.sh
needs "$apps/life_001" "$VERBATIM"
bomb=$PWD/tests/e2e/bomb.py
export PYTHONDONTWRITEBYTECODE=1
cd "$tmp" || exit 1

# The trace t.db with the path of the program replaced.
names() {
	cp t.db named.db && sqlite3 named.db "UPDATE module SET path = '$1' WHERE path LIKE '%/app'"
}
checked() { timeout 60 "$VERBATIM" check named.db >out 2>&1; is "$?" 1 && says "$1" out; }
stays_readable() { names "$tmp/$1" && checked "$2"; }

record_one() {
	cp "$apps/life_001" app && "$VERBATIM" record -q -o t.db "$tmp/app" && names "$tmp/app" &&
		checked 'main+0x.*life_001.c:'
}
a_pipe_is_not_waited_for() {
	mkfifo pipe && names "$tmp/pipe" && checked 'pipe+0x.*(not a regular file)'
}
a_device_is_not_opened() { names /dev/zero && checked 'zero+0x.*(not a regular file)'; }
a_path_is_not_relative() { names app && checked 'app+0x.*(no absolute path)'; }
a_huge_file_is_not_read() {
	truncate -s 1T huge && names "$tmp/huge" && checked 'huge+0x.*(file too large)'
}
a_packed_file_is_not_unpacked() {
	gzip -c app >packed && names "$tmp/packed" && checked 'packed+0x.*(not an ELF file)'
}
another_build_gives_no_names() {
	cp "$apps/life_002" other && names "$tmp/other" && checked 'other+0x.*(binary changed)'
}
# 2 GiB in 2 MB; the symbol table still exists
unpacked_debug_information_is_bounded() {
	local -x ASAN_OPTIONS=${ASAN_OPTIONS:-}:allocator_may_return_null=1 # as without it
	python3 "$bomb" make app bomb $((2 << 30)) && names "$tmp/bomb" &&
		python3 "$bomb" run $((1 << 30)) "$VERBATIM" check named.db >out &&
		says 'main+0x' out
}
# a path in the file itself, to the part that dwz moved out of it
paths_in_a_file_are_not_followed() {
	mkfifo alt && printf '%s\0aaaaaaaaaaaaaaaaaaaa' "$tmp/alt" >link &&
		objcopy --add-section .gnu_debugaltlink=link app linked &&
		stays_readable linked 'main+0x.*life_001.c:'
}
# no server is asked for debug information by build id
no_server_is_asked() {
	strip -o bare app && next_port || return
	python3 "$bomb" listen $port asked & local pid=$!
	await listens $port || return
	names "$tmp/bare" && DEBUGINFOD_URLS=http://127.0.0.1:$port checked 'bare+0x'
	kill $pid; wait $pid 2>/dev/null
	[ ! -e asked ] || { cat asked; return 1; }
}
doctor_looks_at_files_only() {
	timeout 60 "$VERBATIM" doctor "$tmp/pipe" >out; says "cannot be started" out
}

try record_one
try a_pipe_is_not_waited_for
try a_device_is_not_opened
try a_path_is_not_relative
try a_huge_file_is_not_read
try a_packed_file_is_not_unpacked
try another_build_gives_no_names
try unpacked_debug_information_is_bounded
try paths_in_a_file_are_not_followed
try no_server_is_asked
try doctor_looks_at_files_only
