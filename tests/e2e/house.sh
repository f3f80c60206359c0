# The house rules: dependencies between rooms, names and layout, the list of verbs against the
# installed library.
. tests/e2e/lib/try.sh

# a verb that is removed from the list must be reported
removed_verb_is_missed() {
	local dir
	dir=$(mktemp -d) && mkdir "$dir/gen" &&
		sed '/\bdealloc_pd(/d' core/wire/verbs.list >"$dir/verbs.list" &&
		scripts/gen-verbs "$dir/verbs.list" core/wire/structs.list core/wire/data.list \
			"$dir/gen" || return 1
	scripts/check-verbs "$dir" | grep -q '^check-verbs: ibv_dealloc_pd: exported'
	local status=$?
	rm -r "$dir"
	return $status
}

# the compiler's headers, which may differ from those of /usr/include
headers_of_a_prefix_are_read() {
	local prefix=$tmp/prefix lists="core/wire/verbs.list core/wire/structs.list"
	lists+=" core/wire/data.list"
	mkdir -p "$prefix/gen" "$prefix/infiniband" && sed \
		's/IBV_WC_RDMA_WRITE,/IBV_WC_RDMA_WRITE, IBV_WC_OF_A_PREFIX,/' \
		/usr/include/infiniband/verbs.h >"$prefix/infiniband/verbs.h" || return
	CFLAGS="-O2 -I$prefix" scripts/gen-verbs $lists "$prefix/gen" &&
		grep -q OF_A_PREFIX "$prefix/gen/verbs_gen.c" || { echo "by -I: no"; return 1; }
	CPATH=$prefix scripts/gen-verbs $lists "$prefix/gen" &&
		grep -q OF_A_PREFIX "$prefix/gen/verbs_gen.c" || { echo "by CPATH: no"; return 1; }
	! CC="cc -nostdinc" scripts/gen-verbs $lists "$prefix/gen" 2>"$prefix/err" &&
		says "no infiniband/verbs.h" "$prefix/err"
}

# two files that call each other, and calls of a higher room and a higher floor, without an include
calls_that_no_include_shows_are_found() {
	local tree=$tmp/tree layers=$PWD/scripts/check-layers file
	mkdir -p "$tree"/core/{base,wire,store/chunk,store/db} "$tree/docs" &&
		git init -q "$tree" && cp docs/ARCHITECTURE.md "$tree/docs" || return
	echo 'int b(void); int a(void); int a(void) { return b(); }' >"$tree/core/base/a.c"
	echo 'int b(void); int a(void); int b(void) { return a(); }' >"$tree/core/base/b.c"
	echo 'int d(void); int c(void); int c(void) { return d(); }' >"$tree/core/base/c.c"
	echo 'int d(void); int d(void) { return 0; }' >"$tree/core/wire/d.c"
	echo 'int f(void); int e(void); int e(void) { return f(); }' >"$tree/core/store/chunk/e.c"
	echo 'int f(void); int f(void) { return 0; }' >"$tree/core/store/db/f.c"
	for file in base/a base/b base/c wire/d store/chunk/e store/db/f; do
		mkdir -p "$tree/build/obj/core/${file%/*}" && ${CC:-cc} -fvisibility=hidden -c \
			-o "$tree/build/obj/core/$file.o" "$tree/core/$file.c" || return
	done
	(cd "$tree" && BUILD=build "$layers") >"$tmp/layers"
	says "core/base: files in a circle: a.c b.c" "$tmp/layers" &&
		says "core/base/c.c: core/base may not use d() of core/wire/d.c" "$tmp/layers" &&
		says "core/store/chunk/e.c: f() of core/store/db/f.c is on a higher floor" \
			"$tmp/layers"
}

# a page that lacks a floor, has the next two in the wrong order, and lets a room include another
page_of_other_floors_is_found() {
	local tree=$tmp/page layers=$PWD/scripts/check-layers
	mkdir -p "$tree/docs" && git init -q "$tree" && sed -e '/^| - `vtab\/` /d' \
		-e '/^| - `explain\/` /{h;d}' -e '/^| - `model\/` /G' \
		-e '/shim\/lttng.*core\/wire/s/`core\/wire`/`core\/wire`, `core\/store`/' \
		docs/ARCHITECTURE.md >"$tree/docs/ARCHITECTURE.md" || return
	(cd "$tree" && BUILD=build "$layers") >"$tmp/layers"
	says "the floors of core/store are not those of FLOORS" "$tmp/layers" &&
		says "the floors of analyzer are not those of FLOORS" "$tmp/layers" &&
		says "shim/lttng may include other rooms than in MAY" "$tmp/layers" &&
		says "replay has no folder report" "$tmp/layers" || return
	! says "the floors of replay are not" "$tmp/layers" >"$tmp/none"
}

# libraries that the guest needs in addition to libc would be loaded into every descendant
guest_needs_libc_only() {
	local needed
	needed=$(objdump -p "$BUILD/libverbatim.so" | awk '/NEEDED/ { print $2 }' |
		grep -v '^libc\.so\|^libasan\|^libubsan\|^libtsan\|^libgcc_s\|^libm\.so\|^ld-linux')
	[ -z "$needed" ] || { echo "needs $needed"; return 1; }
}

guest_exports_verbs_only() {
	local other name
	other=$(nm -D --defined-only "$BUILD/libverbatim.so" | awk '{ print $3 }' |
		grep -v '@@IBVERBS_\|^IBVERBS_\|@@RDMACM_\|^RDMACM_\|@@VERBATIM_1$\|^VERBATIM_1$')
	# and the functions with which programs create and end processes
	# (shim/trace/process/spawn.c)
	for name in $other; do
		case $name in
		dlsym | dlvsym) ;; # shim/trace/interpose/lookup.c
		dlclose) ;; # shim/trace/stack/modules.c
		prctl | syscall) ;; # shim/trace/interpose/sandbox.c
		sigaction | signal) ;; # shim/trace/interpose/fault.c
		setuid | seteuid | setreuid | setresuid) ;; # shim/trace/process/user.c
		fork | vfork | _Fork | clone | posix_spawn | posix_spawnp | system | popen) ;;
		exec[lv] | exec[lv][ep] | execvpe | fexecve | execveat) ;;
		_exit | _Exit | quick_exit) ;;
		*) echo "exports $name"; return 1 ;;
		esac
	done
}

# each test that the page names, "FILE: NAME, NAME; ..." in its table
promises_have_their_tests() {
	local file names name lost=
	while IFS=: read -r file names; do
		for name in ${names//,/ }; do
			grep -qw -- "$name" "$file" || lost+=" $file:$name"
		done
	done < <(grep -oE '(tests/[a-z0-9_/.]+): [a-z0-9_, ]+' docs/SECURITY.md)
	is "tests that are not there" "$lost" ""
}

# A transcript beside no test is compared with nothing: its test was renamed.
transcripts_have_their_tests() {
	local file test lost=
	for file in $(git ls-files 'tests/*_stories.txt' 'tests/*_test.txt'); do
		test=${file%.txt}
		[ -e "${test%_stories}_test.c" ] || [ -e "$test.c" ] || lost+=" $file"
	done
	is "transcripts without a test" "$lost" ""
}

# what docs/ARCHITECTURE.md does not name, as a file that a command has left
nothing_else_is_at_the_top() {
	local names="LICENSE Makefile README.md analyzer cli core debian docs replay scripts shim"
	is "names" "$(git ls-files | cut -d/ -f1 | grep -v '^\.' | sort -u | tr '\n' ' ')" \
		"$names tests "
}

# how try reports these, in a separate list
tried() {
	TIMES= bash -c '. tests/e2e/lib/try.sh
		holds() { true; }; breaks() { false; }; try "$@"' list "$@"
}
what_cannot_be_tried_has_failed() {
	is "$(tried holds)" "ok list: holds" && is "$(tried breaks)" "not ok list: breaks: " &&
		is "$(tried gone)" "not ok list: gone: no such function" &&
		tried gone_too list | grep -q "^not ok list: gone_too: .*list: command not found"
}

try "layers hold" scripts/check-layers
try "words hold" scripts/check-words
try "list is complete" scripts/check-verbs "$BUILD"
try "mutants that nobody can see are mutants" scripts/mutate --check
try removed_verb_is_missed
try headers_of_a_prefix_are_read
try calls_that_no_include_shows_are_found
try page_of_other_floors_is_found
try guest_needs_libc_only
try guest_exports_verbs_only
try nothing_else_is_at_the_top
try what_cannot_be_tried_has_failed
try promises_have_their_tests
try transcripts_have_their_tests
try "table of the columns of chunks is up to date" scripts/data-table --check
try "table of the software device's verbs is up to date" scripts/soft-table --check
