# What commands print about stored traces, to the letter.
. tests/e2e/lib/stored.sh

asks check "*.db" check --format json {}
asks stat "soft*.db rxe_[a-r]*.db perf*.db mkey*.db [d-f]*.db" stat --format json {}
asks check_text "incident*.db mutant_[p-w]*.db" check {}
asks check_full "[c-q]*_0*.db rxe*.db" check --preset all {}
asks stat_text "rxe*.db soft*.db perf*.db" stat {}
asks dump "soft_[c-x]*.db marks.db fork*.db" dump --names --stacks {}
asks requests "soft_e[ar]*.db soft_s[rt]*.db soft_[ux]*.db [d-l]*.db" sql {} \
	"SELECT * FROM requests; SELECT * FROM qps; SELECT * FROM queue_depth"
both="ud rc srq rping udaddy ucmatose"
asks check_both "$both" check --format json {}_client.db {}_server.db
asks check_both_text "$both" check {}_server.db {}_client.db
asks check_all "rping" check --format json {}_server.db rc_server.db rc_client.db {}_client.db
asks dump_both "$both" dump {}_client.db {}_server.db
asks merge "$both" merge --output {}.db {}_client.db {}_server.db
asks sql_merged "$both" sql {}.db "SELECT * FROM merged; SELECT * FROM requests"
asks diff_same "incident_01 incident_02 mkey_001 queue_004" diff --format json {}.db perf_001.db
asks diff_three "rc" diff --format json {}_client.db ud_client.db srq_client.db -- \
	{}_server.db ud_server.db srq_server.db
asks diff "rc ud srq write atomic senders" diff soft_{}.db rxe_{}.db
asks diff_runs "soft rxe" diff --format json {}_rc.db {}_rc_events.db soft_rc_builders.db \
	-- soft_uc.db soft_rc_timestamps.db {}_uc.db
asks folded "soft_[e-r]*.db" export --format folded --value bytes {}
asks perfetto "soft_[e-p]*.db" export --format perfetto --output /dev/stdout {}
finish
