# Names of functions are printed in the form of the program's language.
. tests/e2e/lib/try.sh
source=$PWD/tests/e2e/names/server.cc
cd "$tmp" || exit 1

record() { "$VERBATIM" record -q -o t.db -- ./server >/dev/null 2>&1; }

# with lines from DWARF, and without, from the symbol table
check_has_names() {
	local flags=$1 name
	${CXX:-g++} $flags -O1 -fno-omit-frame-pointer -o server "$source" -libverbs || return
	record
	"$VERBATIM" check t.db >out
	for name in 'net::Server<4>::start+0x' 'mycrate::client::open+0x' \
		'rdma_app::client::open+0x' 'app.open(int)+0x'; do
		says "^ *$name" out || return
	done
	is "$(grep -c '_Z\|_R\|_D' out)" 0
}

dump_has_names() {
	record
	"$VERBATIM" dump t.db "$("$VERBATIM" sql t.db "SELECT min(thread || ':' || n) FROM call
		WHERE verb = 'ibv_alloc_pd'")" >out && says 'net::Server<4>::start' out
}

json_has_names() {
	record
	"$VERBATIM" check --format json t.db |
		jq -e '[.. | .function? // empty] | index("net::Server<4>::start")' >/dev/null
}

try "check has names by debug information" check_has_names -g
try "check has names by the table of symbols" check_has_names -g0
try dump_has_names
try json_has_names
