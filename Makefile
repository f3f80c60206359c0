# Verbatim. `make`, `make check`, `make test`, `make test-hardware`, `make fuzz`, `make demo`,
# `make bench`, `make soak`, `make mutants N=30`, `make tidy`, `make install PREFIX=...`, `make deb`
# SAN=address,undefined or SAN=thread builds and tests with sanitizers, in a separate directory;
# V=1 prints commands.
CC      ?= cc
PREFIX  ?= /usr/local
SAN     ?=
BUILD   ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
comma   := ,
empty   :=
space   := $(empty) $(empty)

TESTING := $(filter tests test check,$(MAKECMDGOALS))
# functions and lines, without variables and types, take an eighth less time; for a debugger:
# make tests CFLAGS='-O2 -g'
CFLAGS  ?= -O2 -g$(if $(TESTING),1)
# a warning is an error only for us, not for builds with an unknown compiler
WERROR  := $(if $(TESTING),-Werror)
PLAINFLAGS = -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(WERROR) -Wmissing-prototypes \
	-Wstrict-prototypes \
	-fPIC -fvisibility=hidden -fno-omit-frame-pointer -I. -I$(BUILD) -MMD -MP \
	-DVERBATIM_VERSION='"$(VERSION)"' $(CFLAGS)
# ThreadSanitizer does not see fences: ours are between atomic accesses, which it does see
ALLCFLAGS = $(PLAINFLAGS) $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all \
	$(if $(findstring thread,$(SAN)),-Wno-tsan))
ALLLDFLAGS = $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN))
VERSION := 0.1
V       ?=
# prints input and output of a command instead of the command
say = $(if $(V),,@echo '$(1)	$(2)' && )

# each outside library, once; those that few commands need are loaded on demand
# (core/base/library.h)
STORE_LIBS = -lsqlite3 -lzstd
DWARF_LIBS = -liberty -lm
LTTNG_LIBS = -llttng-ust
VERBS_LIBS = -libverbs
TEST_LIBS  = -lcmocka
ALL_LIBS   = $(STORE_LIBS) $(DWARF_LIBS) $(VERBS_LIBS)

# of all sources below these folders
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(shell find $(1) -name '*.c')))
GEN     = $(BUILD)/gen/verbs_gen.h
WIRE   := $(call objects,core/base core/wire) $(BUILD)/obj/gen/verbs_gen.o
# the part for the guest: writing events, without printing and allocating
GUEST_WIRE = $(filter-out $(BUILD)/obj/core/base/% %/log.o %/regular.o %/ring_read.o,$(WIRE)) \
	$(BUILD)/obj/core/base/size.o $(BUILD)/obj/core/base/proc_stat.o
EXTENSION = $(BUILD)/obj/core/store/vtab/extension.o
STORE  := $(filter-out $(EXTENSION),$(call objects,core/model core/store))
TRACE  := $(call objects,shim/trace core/faults)
LTTNG  := $(call objects,shim/lttng)
MEMORY := $(call objects,shim/memory)
SOFT   := $(call objects,shim/soft core/faults)
MODEL  := $(call objects,tests/shim/soft/model)
COMMAND = $(call objects,cli replay analyzer core/faults) $(STORE) $(WIRE)
TESTS  := $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(shell find tests -name '*_test.c')))
ifeq ($(wildcard /usr/include/slurm/spank.h),)
TESTS  := $(filter-out %/spank_test,$(TESTS))
endif
# its free() would be called by a sanitizer that has not started
TESTS  := $(if $(SAN),$(filter-out %/memory/memory_test,$(TESTS)),$(TESTS))
APPS   := $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(wildcard tests/apps/*.c)))
LIBS    = $(BUILD)/libverbatim.so $(BUILD)/libverbatim-lttng.so $(BUILD)/libverbatim-soft.so \
	$(BUILD)/libverbatim-memory.so \
	$(BUILD)/dropin/libibverbs.so.1 \
	  $(BUILD)/libverbatim-sqlite.so
# the plug-in for Slurm, where its header is (Debian: libslurm-dev)
SLURM   = $(if $(wildcard /usr/include/slurm/spank.h),$(BUILD)/verbatim-slurm.so)

all: $(BUILD)/verbatim $(LIBS) $(SLURM)

LISTS   = $(patsubst %,core/wire/%.list,verbs structs data)

$(GEN): scripts/gen-verbs scripts/args_list.py scripts/data_list.py $(LISTS)
	$(call say,GEN,$@)CC='$(CC)' CFLAGS='$(CFLAGS)' scripts/gen-verbs $(LISTS) $(BUILD)/gen

$(BUILD)/obj/gen/verbs_gen.o: $(GEN)
	@mkdir -p $(@D)
	$(call say,CC,$(BUILD)/gen/verbs_gen.c)$(CC) $(ALLCFLAGS) -c -o $@ $(BUILD)/gen/verbs_gen.c

$(BUILD)/obj/%.o: %.c | $(GEN)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALLCFLAGS) -c -o $@ $<

# a trace without rows is inside the program
BLANK = $(BUILD)/gen/blank_gen.h
$(BUILD)/gen/store.a: $(filter-out %/db/blank.o,$(STORE)) $(WIRE)
	$(call say,AR,$@)rm -f $@ && $(AR) rcsT $@ $^

$(BUILD)/gen/gen_blank: scripts/gen_blank.c $(BUILD)/gen/store.a
	$(call say,CC,$<)$(CC) $(ALLCFLAGS) $(ALLLDFLAGS) -o $@ $(filter %.c %.a,$^) $(ALL_LIBS)

$(BLANK): $(BUILD)/gen/gen_blank
	$(call say,GEN,$@)$< >$@.new && mv $@.new $@

$(patsubst %,$(BUILD)/%/core/store/db/blank.o,obj fuzz/obj): $(BLANK)

# a thousand functions that LTTng generates, for programs that LTTng traces: optimising them fully
# takes longer than all of shim/trace
$(BUILD)/obj/shim/lttng/lttng.o: PLAINFLAGS += -O1 -g1

# with the variables and types that a debugger reads while a replay waits (docs/REPLAY.md)
$(BUILD)/obj/replay/%.o: PLAINFLAGS += -g

# the files that `verbatim report` writes are inside the program
PARTS = $(patsubst %,$(BUILD)/%/cli/report/page_parts.o,obj fuzz/obj)
$(PARTS): $(wildcard cli/report/page/*)

# a sanitizer calls our dlsym() before it has started
$(patsubst %,$(BUILD)/obj/shim/trace/%.o,base/dl base/object base/provider interpose/import \
	interpose/lookup): ALLCFLAGS += $(if $(SAN),-fno-sanitize=all)

SANITIZED = $(if $(SAN),$(BUILD)/obj/tests/sanitizers.o)

$(BUILD)/verbatim: $(COMMAND) $(SANITIZED)
	$(call say,LD,$@)$(CC) $(if $(SAN),$(ALLCFLAGS)) $(ALLLDFLAGS) -o $@ $^ $(ALL_LIBS)

# generated from the rows of the help, for bash, zsh and fish
COMPLETION = $(patsubst %,$(BUILD)/completion/%,verbatim _verbatim verbatim.fish)
$(BUILD)/completion/verbatim: SHELL_NAME = bash
$(BUILD)/completion/_verbatim: SHELL_NAME = zsh
$(BUILD)/completion/verbatim.fish: SHELL_NAME = fish
$(COMPLETION): scripts/gen-completion $(BUILD)/verbatim
	@mkdir -p $(@D)
	$(call say,GEN,$@)scripts/gen-completion $(SHELL_NAME) $(BUILD)/verbatim >$@

ifeq ($(SAN),)
# libraries in programs are never unloaded: threads, fork handlers and patched pointers lead into
# them; they are bound at once: lazy binding takes 3 KB of the caller's stack
GUEST = -shared -Wl,-z,nodelete -Wl,-z,now

# the guest: nothing but libc (libunwind is loaded when the first verb is recorded; xxHash is
# compiled in)
$(BUILD)/libverbatim.so: $(TRACE) $(GUEST_WIRE)
	$(call say,LD,$@)$(CC) $(ALLLDFLAGS) $(GUEST) -Wl,-soname,libverbatim.so \
		-Wl,--version-script=$(BUILD)/gen/trace.map \
		-o $@ $^

# its tracepoints for LTTng: loaded only on request
$(BUILD)/libverbatim-lttng.so: $(LTTNG) $(GUEST_WIRE) shim/lttng/lttng.map
	$(call say,LD,$@)$(CC) $(ALLLDFLAGS) $(GUEST) -Wl,-soname,libverbatim-lttng.so \
		-Wl,--version-script=shim/lttng/lttng.map -o $@ $(filter %.o,$^) $(LTTNG_LIBS)

# the library that observes registered memory: preloaded only on request
$(BUILD)/libverbatim-memory.so: $(MEMORY) shim/memory/memory.map
	$(call say,LD,$@)$(CC) $(ALLLDFLAGS) $(GUEST) -Wl,-soname,libverbatim-memory.so \
		-Wl,--version-script=shim/memory/memory.map -o $@ $(MEMORY)

# without the symbols that providers import: these have the real library
$(BUILD)/libverbatim-soft.so: $(filter-out %/private.o,$(SOFT)) shim/soft/soft.map
	$(call say,LD,$@)$(CC) $(ALLLDFLAGS) $(GUEST) -Wl,-soname,libverbatim-soft.so \
		-Wl,--version-script=shim/soft/soft.map \
		-o $@ $(filter %.o,$^)

$(BUILD)/dropin/libibverbs.so.1: $(SOFT) shim/soft/dropin.map
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(ALLLDFLAGS) $(GUEST) -Wl,-soname,libibverbs.so.1 \
		-Wl,--version-script=shim/soft/dropin.map \
		-o $@ $(SOFT)

$(BUILD)/verbatim-slurm.so: $(call objects,shim/slurm)
	$(call say,LD,$@)$(CC) $(ALLLDFLAGS) -shared -o $@ $^

# the same store, on the SQLite that loads it (core/store/vtab/extension.c)
$(BUILD)/libverbatim-sqlite.so: $(EXTENSION) $(STORE) $(WIRE)
	$(call say,LD,$@)$(CC) $(ALLLDFLAGS) -shared -Wl,-z,defs -Wl,-soname,libverbatim-sqlite.so \
		-o $@ $^ $(filter-out -lsqlite3,$(STORE_LIBS)) -lm
else
# these are loaded into other programs, where sanitizers cannot be used: unit tests sanitize them
$(LIBS) $(SLURM) &: FORCE
	$(MAKE) SAN= BUILD=build $(LIBS:$(BUILD)/%=build/%) $(SLURM:$(BUILD)/%=build/%)
	mkdir -p $(BUILD)/dropin && cp build/*.so $(BUILD)/ && cp build/dropin/* $(BUILD)/dropin/
endif

# a test runs once: optimising it takes longer than running it
TESTCFLAGS = $(ALLCFLAGS) -O0

# a unit test may use every object of the project; unused ones are left out. It is linked again only
# if a used one has changed; the linker writes the list of these.
$(BUILD)/libtest.a: $(filter-out %/cli/main.o,$(COMMAND))
	$(call say,AR,$@)rm -f $@ && $(AR) rcsT $@ $^

# lld takes half the time of ld, and there are 300 tests to link. Not with the recorder, whose
# private stack (private_stack.c) is not unwound then
LLD := $(if $(SAN),,$(if $(shell command -v ld.lld),-fuse-ld=lld))
link_test = $(CC) $(ALLCFLAGS) $(ALLLDFLAGS) -o $@ $(filter %.o,$^)
link_alone = $(CC) $(ALLCFLAGS) $(ALLLDFLAGS) -o $@ $@.o $(SANITIZED)

$(TESTS:=.o): $(BUILD)/tests/%.o: tests/%.c | $(GEN)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(TESTCFLAGS) -c -o $@ $<

$(BUILD)/tests/shim/soft/model_test: $(MODEL)

# these print results as text, and the first one calls verbs by their number
PRINTS = $(patsubst %,$(BUILD)/obj/core/base/%.o,text vec printable digits)
$(BUILD)/tests/shim/soft/sweep_test: $(patsubst %,$(BUILD)/obj/%.o,replay/device/dispatch \
	core/wire/desc core/wire/hash gen/verbs_gen)
$(BUILD)/tests/shim/soft/sweep_test: ALLLDFLAGS += -rdynamic
$(patsubst %,$(BUILD)/tests/shim/soft/%_test,sweep trial cm/cm_command sysfs/sysfs \
	cm/cm_away cm/cm_route network/conversation network/impair): $(PRINTS)
# both sides of this module are the test's
$(BUILD)/tests/shim/soft/cm/cm_away_test: ALLLDFLAGS += -Wl,--wrap=uplink_get,--wrap=mads_send \
	-Wl,--wrap=cm_wire_put,--wrap=cm_port_request,--wrap=engine_start
# and what this one asks
$(BUILD)/tests/shim/soft/cm/cm_route_test: ALLLDFLAGS += $(patsubst %,-Wl$(comma)--wrap=%, \
	uplink_get uplink_reaches cm_addr_is_local cm_addr_set_source cm_away_start \
	cm_id_bind_port cm_id_event cm_id_name cm_port_listen cm_port_share)
$(BUILD)/tests/shim/soft/network/impair_test: ALLLDFLAGS += -Wl,--wrap=process_now \
	-Wl,--wrap=latency_model,--wrap=sockets_send_fd,--wrap=alarm_expect

$(BUILD)/tests/shim/soft/%_test: $(BUILD)/tests/shim/soft/%_test.o $(SOFT) $(SANITIZED)
	$(call say,LD,$@)$(link_test) $(TEST_LIBS)

# the recorder, with the software device as its library
$(BUILD)/tests/shim/trace/recorder_test: ALLLDFLAGS += -rdynamic
$(BUILD)/tests/shim/trace/recorder_test: $(PRINTS) | $(BUILD)/dropin/libibverbs.so.1

# all that these modules call is the test's
$(BUILD)/tests/shim/trace/verbs/attach_test: ALLLDFLAGS += $(patsubst %,-Wl$(comma)--wrap=%, \
	undo_begin undo_all undo_is_on recording_end recording_is_on recording_is_over \
	modules_forget exports_hook exports_restore private_stack_call private_stack_release \
	reset_join session_has_collector session_leave session_open_dir rings_end descriptors_add \
	wrappers_patch qp_ex_watch record_report_blind verbatim_record_mark call_write_begin \
	call_write_end)
$(BUILD)/tests/shim/trace/faults/calls_cm_test: ALLLDFLAGS += $(patsubst %,-Wl$(comma)--wrap=%, \
	enter_call enter_fail plan_cm_event plan_note plan_wait postponed_release original_fail_qp \
	connected_add_id connected_remove_id)
$(BUILD)/tests/shim/trace/process/user_test: ALLLDFLAGS += $(patsubst %,-Wl$(comma)--wrap=%, \
	recording_is_on started_has_verbs vfork_is_child recording_lock recording_unlock \
	rings_set_aside session_join)
$(patsubst %,$(BUILD)/tests/shim/trace/%_test,verbs/attach faults/calls_cm process/user): $(PRINTS)

$(BUILD)/tests/shim/trace/%_test: $(BUILD)/tests/shim/trace/%_test.o $(TRACE) $(WIRE) $(SANITIZED)
	$(call say,LD,$@)$(link_test) $(TEST_LIBS)

$(BUILD)/tests/shim/slurm/%_test: $(BUILD)/tests/shim/slurm/%_test.o $(call objects,shim/slurm) \
	$(SANITIZED)
	$(call say,LD,$@)$(link_test) $(TEST_LIBS)

$(BUILD)/tests/shim/memory/%_test: $(BUILD)/tests/shim/memory/%_test.o $(MEMORY) $(SANITIZED)
	$(call say,LD,$@)$(link_test) $(TEST_LIBS)

$(BUILD)/tests/shim/lttng/%_test: $(BUILD)/tests/shim/lttng/%_test.o \
	$(BUILD)/obj/shim/lttng/%.o $(WIRE) $(PRINTS) $(SANITIZED)
	$(call say,LD,$@)$(link_test) $(TEST_LIBS)

# replays on the software device in one process
$(BUILD)/tests/replay/soft_test: $(BUILD)/tests/replay/soft_test.o $(SOFT) \
	$(filter-out %/cli/main.o,$(COMMAND)) $(SANITIZED)
	$(call say,LD,$@)$(link_test) $(LLD) -rdynamic $(ALL_LIBS) $(TEST_LIBS)

# replays that are recorded
$(BUILD)/tests/replay/verbs_test: | $(BUILD)/libverbatim.so $(BUILD)/libverbatim-soft.so
$(BUILD)/tests/cli/attach/attach_test: | $(BUILD)/libverbatim-soft.so

# not with the objects that the linker has listed: the test may replace their functions now
$(BUILD)/tests/%_test: $(BUILD)/tests/%_test.o $(SANITIZED) | $(BUILD)/libtest.a
	$(call say,LD,$@)$(link_alone) $(LLD) $(BUILD)/libtest.a $(ALL_LIBS) $(TEST_LIBS) \
		-Wl,-t,-t >$@.link && \
		sed -n -e 's|^$(BUILD)/libtest.a(\(.*\))$$|\1|; s|^obj/|$(BUILD)/&|' \
			-e 's|^$(BUILD)/obj/\(.*\)\.o$$|$@: $$(if $$(wildcard \1.c),&)|p' \
			$@.link >$@.link.d

# in these our allocations may fail (tests/allocation.h)
$(patsubst %,$(BUILD)/tests/cli/emit/%_test,build loops): ALLLDFLAGS += \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

# programs to be recorded; in some a sanitizer would find the mistake first
RUN_PARTS = $(if $(SAN),$(wildcard tests/shim/soft/model/*.c),$(MODEL))
$(BUILD)/tests/apps/model_run: APP_PARTS = $(RUN_PARTS)
$(BUILD)/tests/apps/model_run: $(RUN_PARTS)

$(BUILD)/tests/apps/cm_%: VERBS_LIBS += -lrdmacm

# not optimised, as unit tests, but for those in whose stacks inlined functions are looked for
OPTIMISED = demo_bug depth first_error helper moved regress setup_loop
$(APPS): APP_FLAGS = -O0 -g
$(OPTIMISED:%=$(BUILD)/tests/apps/%): APP_FLAGS = -g

$(BUILD)/tests/apps/%: tests/apps/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(PLAINFLAGS) $(APP_FLAGS) $(LDFLAGS) -o $@ $< $(APP_PARTS) \
		$(VERBS_LIBS) -lpthread

# the first folder in the PATH of lists (tests/e2e/lib/try.sh): programs that are started a thousand
# times, and take longer to start than to run
# - perftest with a shorter measurement of the processor (tests/quick/clock.c)
# - gojq in place of jq, which before 1.7 compiles its own library at each start
# - Debian's python3, without wrappers or additional packages that slow it down
QUICK      = $(BUILD)/tests/quick
QUICK_PERF = $(foreach each,send write read atomic,ib_$(each)_bw ib_$(each)_lat)

$(QUICK)/clock.so: tests/quick/clock.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(PLAINFLAGS) $(LDFLAGS) -shared -o $@ $<

$(QUICK)/launch: tests/quick/launch.c $(QUICK)/clock.so
	$(call say,CC,$<)$(CC) $(PLAINFLAGS) $(LDFLAGS) -o $@ $<
	cd $(@D) && $(foreach each,$(QUICK_PERF),ln -sf launch $(each) &&) \
		ln -sf /usr/bin/gojq jq && ln -sf /usr/bin/python3 python3

# fuzzers (docs/HACKING.md): sanitized in any build; guided by coverage if clang is installed, which
# does not define the macro of a sanitizer, and reports NULL + 0 as an overflow
FUZZ_CLANG := $(wildcard \
	$(shell clang -print-resource-dir 2>/dev/null)/lib/linux/libclang_rt.fuzzer-*.a)
FUZZ_CC  ?= $(if $(FUZZ_CLANG),clang,$(CC))
FUZZ_OPT ?=
FUZZ_SAN  = $(PLAINFLAGS) $(FUZZ_OPT) -fsanitize=address,undefined -fno-sanitize-recover=all \
	$(if $(FUZZ_CLANG),-D__SANITIZE_ADDRESS__=1 -fno-sanitize=pointer-overflow)
FUZZ_OBJ  = $(FUZZ_SAN) $(if $(FUZZ_CLANG),-fsanitize=fuzzer-no-link)
FUZZ_LIB  = $(FUZZ_SAN) $(if $(FUZZ_CLANG),-fsanitize=fuzzer,tests/fuzz/plain.c)
FUZZERS   = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(sort $(wildcard tests/fuzz/*_fuzz.c)))
FUZZ_APPS = $(patsubst %,$(BUILD)/tests/apps/%,guest payload demo_bug every_verb fork_003 threads \
	marks compl_001 far_end)
MUTATE    = $(patsubst %,tests/fuzz/%.c,dice rows columns schema chunk bytes session text \
	bundle seeds)
fuzzed    = $(patsubst $(BUILD)/obj/%,$(BUILD)/fuzz/obj/%,$(1))

# objects with other optimisation are compiled again
$(BUILD)/fuzz/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FUZZ_CC) $(FUZZ_OPT)' | cmp -s - $@ || echo '$(FUZZ_CC) $(FUZZ_OPT)' >$@

$(BUILD)/fuzz/obj/gen/verbs_gen.o: $(GEN) $(BUILD)/fuzz/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)$(FUZZ_CC) $(FUZZ_OBJ) -c -o $@ $(BUILD)/gen/verbs_gen.c

$(BUILD)/fuzz/obj/%.o: %.c $(BUILD)/fuzz/flags | $(GEN)
	@mkdir -p $(@D)
	$(call say,CC,$@)$(FUZZ_CC) $(FUZZ_OBJ) -c -o $@ $<

$(BUILD)/fuzz/verbatim: $(call fuzzed,$(COMMAND)) tests/sanitizers.c
	$(call say,CC,$@)$(FUZZ_CC) $(FUZZ_SAN) -o $@ $(filter %.c %.o,$^) $(ALL_LIBS)
	cd $(@D) && ln -sf ../*.so ../dropin .

$(BUILD)/fuzz/libfuzz.a: $(call fuzzed,$(filter-out %/cli/main.o,$(COMMAND)))
	$(call say,AR,$@)rm -f $@ && $(AR) rcsT $@ $^

$(BUILD)/fuzz/soft_fuzz: tests/fuzz/soft_fuzz.c tests/fuzz/dice.c tests/fuzz/bytes.c \
	tests/fuzz/seeds.c $(call fuzzed,$(SOFT))
	$(call say,CC,$@)$(FUZZ_CC) $(FUZZ_LIB) -o $@ $(filter %.c %.o,$^) -lsqlite3

$(BUILD)/fuzz/wire_fuzz: tests/fuzz/wire_fuzz.c tests/fuzz/dice.c tests/fuzz/bytes.c \
	$(call fuzzed,$(SOFT))
	$(call say,CC,$@)$(FUZZ_CC) $(FUZZ_LIB) -o $@ $(filter %.c %.o,$^) -lsqlite3

$(BUILD)/fuzz/%_fuzz: tests/fuzz/%_fuzz.c tests/fuzz/inside.c $(MUTATE) $(BUILD)/fuzz/libfuzz.a
	$(call say,CC,$@)$(FUZZ_CC) $(FUZZ_LIB) -o $@ $(filter %.c %.a,$^) $(ALL_LIBS)

# the program that runs commands is not sanitized, the commands are
.PRECIOUS: $(BUILD)/tests/fuzz/%.o
$(BUILD)/tests/fuzz/%.o: tests/fuzz/%.c | $(GEN)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(TESTCFLAGS) -c -o $@ $<

mutate = $(patsubst tests/%.c,$(BUILD)/tests/%.o,$(1) $(MUTATE))

$(BUILD)/fuzz/commands: $(call mutate,$(patsubst %,tests/fuzz/%.c,commands forms trial live)) \
	$(SANITIZED) $(BUILD)/libtest.a
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(ALLCFLAGS) $(ALLLDFLAGS) -o $@ $^ $(ALL_LIBS)

# the fuzzers of `make test`: linked from the existing objects, with our own driver
$(BUILD)/smoke/soft_fuzz: $(SOFT) $(SANITIZED) \
	$(patsubst %,$(BUILD)/tests/fuzz/%.o,soft_fuzz dice bytes seeds plain)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(ALLCFLAGS) $(ALLLDFLAGS) -o $@ $^ -lsqlite3

$(BUILD)/smoke/wire_fuzz: $(SOFT) $(SANITIZED) \
	$(patsubst %,$(BUILD)/tests/fuzz/%.o,wire_fuzz dice bytes plain)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(ALLCFLAGS) $(ALLLDFLAGS) -o $@ $^ -lsqlite3

$(BUILD)/smoke/%_fuzz: $(BUILD)/tests/fuzz/%_fuzz.o \
	$(call mutate,tests/fuzz/inside.c tests/fuzz/plain.c) $(SANITIZED) $(BUILD)/libtest.a
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(ALLCFLAGS) $(ALLLDFLAGS) -o $@ $^ $(ALL_LIBS)

$(BUILD)/smoke/verbatim: $(BUILD)/verbatim
	@mkdir -p $(@D)
	ln -sf ../verbatim $@

SMOKE = $(FUZZERS:$(BUILD)/fuzz/%=$(BUILD)/smoke/%) $(BUILD)/smoke/verbatim $(BUILD)/fuzz/commands

fuzzers: $(FUZZERS) $(BUILD)/fuzz/verbatim $(BUILD)/fuzz/commands

# each fuzzer for that time, or those named by FUZZ (tests/fuzz/run)
fuzz: deps
	$(MAKE) -j$$(nproc) all fuzzers $(FUZZ_APPS) $(BUILD)/tests/shim/soft/fuzz_test
	BUILD=$(BUILD) SEED=$(SEED) tests/fuzz/run $(SECONDS) $(FUZZ)

# altered inputs to all commands: a table of the results
MUTANTS ?= 10000
SEED    ?= 1

fuzz-table: deps
	$(MAKE) -j$$(nproc) all fuzzers $(FUZZ_APPS)
	tests/fuzz/make-corpus $(BUILD) $(BUILD)/fuzz/corpus
	$(BUILD)/fuzz/commands $(BUILD)/fuzz/verbatim $(BUILD)/fuzz/corpus --keep \
		$(BUILD)/fuzz/failed --jobs $$(nproc) \
		--seed $(SEED) --mutants $(MUTANTS)

# each alteration of each integer column, to all commands (tests/fuzz/columns.c): hours
fuzz-columns: MUTANTS = 1000000
fuzz-columns: deps
	$(MAKE) -j$$(nproc) all fuzzers $(FUZZ_APPS)
	tests/fuzz/make-corpus $(BUILD) $(BUILD)/fuzz/corpus
	$(BUILD)/fuzz/commands $(BUILD)/fuzz/verbatim $(BUILD)/fuzz/corpus --keep \
		$(BUILD)/fuzz/failed --jobs $$(nproc) --columns all \
		--seed $(SEED) --mutants $(MUTANTS)

tests: all $(COMPLETION) $(SOFT) $(TRACE) $(TESTS) $(APPS) $(SMOKE) $(QUICK)/launch

deps:
	scripts/install-deps test

test: deps
	$(MAKE) -j$$(nproc) tests
	BUILD=$(BUILD) SAN=$(SAN) scripts/run-tests

# between edits: unit tests, house rules, and quick lists that cover most of the product
CHECK = _test $(patsubst %,e2e/%.sh,house dump sql query contexts commands badinput edges \
	replay_posts outputs cm)

check:
	$(MAKE) -j$$(nproc) tests
	BUILD=$(BUILD) SAN=$(SAN) scripts/run-tests $(CHECK)

# run clang-tidy (.clang-tidy), on the whole tree or on ROOMS: minutes
TIDY = $(or $(ROOMS),cli replay analyzer core shim)

tidy: compile_commands.json
	scripts/install-deps tidy
	jq -r '.[].file' $< | sort -u | grep -E '^($(subst $(space),|,$(strip $(TIDY))))/' | \
		xargs -P$$(nproc) -n8 clang-tidy -p . --quiet

# for editors and tools: the command that compiles each file
compile_commands.json: Makefile FORCE
	scripts/compile-commands $(MAKE) BUILD=$(BUILD) SAN=$(SAN) >$@.new && mv $@.new $@

# on kernel devices, in virtual machines (scripts/vm): HARDWARE names some of tests/hardware
HARDWARE ?=

test-hardware: deps
	$(MAKE) -j$$(nproc) tests
	scripts/vm --links both --prepare || [ $$? -eq 77 ]
	BUILD=$(BUILD) JOBS=1 scripts/run-tests tests/hardware/$(HARDWARE)

# N changes of the code, each of which a test should notice (scripts/mutate): SEED selects which,
# SINCE=COMMIT takes only lines that have changed since then, ROOMS some folders
N     ?= 30
SINCE ?=
ROOMS ?=

mutants: deps
	$(MAKE) -j$$(nproc) tests
	scripts/mutate --number $(N) --seed $(SEED) $(SINCE:%=--since %) $(ROOMS)

demo:
	scripts/install-deps demo
	$(MAKE) -j$$(nproc) all $(BUILD)/tests/apps/demo_bug
	BUILD=$(BUILD) scripts/demo

bench: deps
	$(MAKE) -j$$(nproc) all
	BUILD=$(BUILD) CC=$(CC) scripts/bench/run

# peers killed, forked and reconnected, also with faults, and segments overwritten, at random, for
# that time
SECONDS ?= 600
SOAKS   = $(BUILD)/tests/shim/soft/kill_test $(BUILD)/tests/shim/soft/fuzz_test

soak: $(SOAKS)
	ROUNDS=1 SECONDS=$$(($(SECONDS) / 4)) $(BUILD)/tests/shim/soft/kill_test
	ROUNDS=1 SECONDS=$$(($(SECONDS) / 4)) VERBATIM_SOFT_VM=off \
		$(BUILD)/tests/shim/soft/kill_test
	ROUNDS=1 SECONDS=$$(($(SECONDS) / 4)) VERBATIM_SOFT_FAULTS=tests/shim/soft/soak.faults \
		$(BUILD)/tests/shim/soft/kill_test
	ROUNDS=1 SECONDS=$$(($(SECONDS) / 4)) $(BUILD)/tests/shim/soft/fuzz_test

# zsh reads one folder for packages, and another one below /usr/local
COMPLETIONS = share/bash-completion/completions \
	share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions) \
	share/fish/vendor_completions.d
DOCS        = $(PREFIX)/share/doc/verbatim

install: all $(COMPLETION)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/verbatim/dropin \
		$(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(BUILD)/verbatim $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(filter-out %.so.1,$(LIBS)) $(DESTDIR)$(PREFIX)/lib/verbatim/
	install -m 644 $(BUILD)/dropin/libibverbs.so.1 $(DESTDIR)$(PREFIX)/lib/verbatim/dropin/
	$(if $(SLURM),install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/verbatim-slurm $(SLURM))
	install -d $(DESTDIR)$(PREFIX)/include
	install -m 644 shim/trace/verbatim.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 docs/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -d $(DESTDIR)$(DOCS)/examples $(COMPLETIONS:%=$(DESTDIR)$(PREFIX)/%)
	install -m 644 README.md LICENSE docs/*.md docs/*.png docs/*.svg $(DESTDIR)$(DOCS)/
	sed -i 's,(docs/,(,g' $(DESTDIR)$(DOCS)/README.md # its links
	install -m 644 docs/examples/* $(DESTDIR)$(DOCS)/examples/
	install -m 644 $(BUILD)/completion/verbatim \
		$(DESTDIR)$(PREFIX)/$(word 1,$(COMPLETIONS))/
	install -m 644 $(BUILD)/completion/_verbatim \
		$(DESTDIR)$(PREFIX)/$(word 2,$(COMPLETIONS))/
	install -m 644 $(BUILD)/completion/verbatim.fish \
		$(DESTDIR)$(PREFIX)/$(word 3,$(COMPLETIONS))/

# Debian packages, from a copy of the tree, so that nothing is written next to it
DEB = $(BUILD)/deb

deb:
	scripts/install-deps build deb
	rm -rf $(DEB) && mkdir -p $(DEB)/verbatim-$(VERSION)
	tar -cf - --exclude='./build*' --exclude=./.git . | tar -xf - -C $(DEB)/verbatim-$(VERSION)
	cd $(DEB)/verbatim-$(VERSION) && dpkg-buildpackage -us -uc
	rm -r $(DEB)/verbatim-$(VERSION)
	lintian --fail-on error,warning $(DEB)/*.changes

# in a fresh Debian system: needs root, a mirror and some minutes
test-deb: deb
	tests/package/deb.sh $(DEB)

clean:
	rm -rf build build-*

FORCE:

.PHONY: all tests deps check test tidy test-hardware mutants demo bench soak fuzzers fuzz \
	fuzz-table fuzz-columns install deb test-deb clean
.DELETE_ON_ERROR:
-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)
