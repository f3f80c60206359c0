# verbatim explain: every topic that it lists, and the commands that it names.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

explain() { "$VERBATIM" explain "$@"; }
tells() { explain "${@:2}" >out 2>&1 || { cat out; return 1; }; says "$1" out; }

statuses=$(explain | sed -n '/^completion/,/^asyn/s/.* \(IBV_WC_\)/\1/p')
events=$(explain | sed -n '/^asyn/,/^verbs/s/.* \(IBV_EVENT_\)/\1/p')
verbs=$(explain | sed -n '/^verbs/,$s/^  *//p')
pairs=$(explain $verbs | sed 's/().*//' |
	awk '/^(ibv|rdma)_/ { verb = $1 } /^E[A-Z]+ / { print verb, $1 }')

all_of_the_header_are_listed() {
	is statuses "$(wc -w <<<"$statuses")" \
		"$(sed -n '/^enum ibv_wc_status {/,/^}/p' /usr/include/infiniband/verbs.h |
			grep -c IBV_WC_)" &&
		is events "$(wc -w <<<"$events")" \
			"$(sed -n '/^enum ibv_event_type {/,/^}/p' /usr/include/infiniband/verbs.h |
				grep -c IBV_EVENT_)"
}
everything_listed_is_explained() {
	explain $statuses $events $pairs >all &&
		[ "$(wc -l <<<"$pairs")" -gt 300 ] || { echo "few pairs: $pairs"; return 1; }
	is "$(grep -c '^causes ' all)" $(($(wc -w <<<"$statuses $events") + $(wc -l <<<"$pairs")))
}
several_topics_at_once() {
	explain LIFE-001 RNR_RETRY_EXC_ERR ibv_reg_mr ENOMEM reg_mr QP_FATAL >out &&
		is "$(grep -E '^(LIFE|IBV_|ibv_)' out | cut -d' ' -f1 | paste -sd' ')" \
			"LIFE-001 IBV_WC_RNR_RETRY_EXC_ERR ibv_reg_mr() ibv_reg_mr(): \
IBV_EVENT_QP_FATAL"
}
a_number_is_a_status_and_names_the_event() {
	tells '^IBV_WC_RNR_RETRY_EXC_ERR (13), completion status' 13 &&
		says 'asynchronous event: IBV_EVENT_SM_CHANGE' out
}
# each topic of the text, with its text
json_has_what_the_text_has() {
	local json kind name field
	explain --json LIFE-001 RNR_RETRY_EXC_ERR reg_mr ENOMEM reg_mr QP_FATAL >json &&
		is "$(jq -r '.topics[] | "\(.kind) \(.id // .name)"' json | paste -sd,)" \
			"rule LIFE-001,completion status IBV_WC_RNR_RETRY_EXC_ERR,errno ENOMEM,\
verb ibv_reg_mr,asynchronous event IBV_EVENT_QP_FATAL" || return
	explain ENOMEM 2>err; is "exit $?" "exit 2" || return
	explain RNR_RETRY_EXC_ERR | tr -s ' \n' ' ' >text
	jq -r '.topics[1] | .which_end, .means, .causes[], .source' json >fields
	[ "$(wc -l <fields)" -gt 5 ] || { cat fields; return 1; }
	while read -r field; do grep -qF "$field" text || { echo "$field"; return 1; }; done <fields
	is "rules" "$(explain --json | jq '[.topics[] | select(.kind == "rule")] | length')" \
		"$(explain | grep -c '^[A-Z]*-[0-9][0-9]* ')" &&
		is "refused" "$(explain --json LIFE-0O1 2>err)" ""
}
# a word, the expected text
refuses() {
	explain $1 >out 2>err; is "exit $?" "exit 2" && says "$2" err
}
what_is_not_known_is_refused() {
	refuses IBV_WC_RNR_RETRY_EXC_ER "did you mean 'IBV_WC_RNR_RETRY_EXC_ERR'" &&
		refuses ibv_modfy_qp "did you mean 'ibv_modify_qp'" &&
		refuses LIFE-0O1 "did you mean 'LIFE-001'" &&
		refuses EINVAL "also give the verb" &&
		refuses "ibv_query_port EBUSY" "has no entry for EBUSY" &&
		refuses 4000 "no rule, status, event, verb or errno is named"
}
# the commands printed under "look at" work
commands_that_are_named_run() {
	"$VERBATIM" record -q -o t.db "$apps/life_001" bad >/dev/null 2>&1
	local command
	sed -n 's/^\(look at\)\{0,1\}  *verbatim /"$VERBATIM" /p' all | sort -u |
		sed 's/TRACE/t.db/' >commands
	[ "$(wc -l <commands)" -gt 20 ] || { echo "few commands"; return 1; }
	while read -r command; do
		case $command in *doctor*) continue ;; esac # it checks the machine
		eval "$command" >out 2>&1
		[ $? -le 1 ] || { echo "$command: $(head -c 300 out)"; return 1; }
	done <commands
}

for t in all_of_the_header_are_listed everything_listed_is_explained several_topics_at_once \
	 a_number_is_a_status_and_names_the_event what_is_not_known_is_refused \
	 json_has_what_the_text_has commands_that_are_named_run; do
	try $t
done
