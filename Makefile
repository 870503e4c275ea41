# numabd: `make help` lists what there is to make.

VERSION := 0.1.0
PREFIX ?= /usr/local
UNITDIR ?= $(PREFIX)/lib/systemd/system
MANDIR ?= $(PREFIX)/share/man
DESTDIR ?=

CC ?= cc
PKG_CONFIG ?= pkg-config
PACKAGES := libproc2 libsystemd
WARNINGS := -Wall -Wextra -Werror -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wundef \
            -Wshadow -Wpointer-arith -Wwrite-strings -Wold-style-definition
OPTIMISE ?= -O2 -g
HARDEN := -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
SANITIZE := -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined

CPPFLAGS_ALL = -D_GNU_SOURCE -DNUMABD_VERSION='"$(VERSION)"' \
               -Iinclude -Isrc $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null) $(CPPFLAGS)
CFLAGS_ALL = -std=gnu11 $(OPTIMISE) $(HARDEN) $(WARNINGS) $(CFLAGS)
LIBS = $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null) -liniparser -lZydis -lnuma -lm -pthread

# V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' $(1) $(2))

# Debug and sanitizer objects live apart, so that neither build disturbs the other.
B := build
MAINS := src/daemon/main.c src/ctl/main.c
CTL_SOURCES := $(filter-out $(MAINS),$(wildcard src/ctl/*.c))
LIB_SOURCES := $(filter-out $(MAINS),$(wildcard src/*.c src/*/*.c src/*/*/*.c))
LIB_OBJECTS := $(LIB_SOURCES:src/%.c=$(B)/obj/%.o)
ASAN_OBJECTS := $(LIB_SOURCES:src/%.c=$(B)/asan/%.o)
UNIT_SOURCES := $(wildcard tests/unit/test-*.c)
UNIT_TESTS := $(UNIT_SOURCES:tests/unit/%.c=$(B)/unit/%)
UNIT_SUPPORT := $(patsubst tests/unit/%.c,$(B)/asan-unit/%.o,$(filter-out $(UNIT_SOURCES),$(wildcard tests/unit/*.c)))
SIM_SOURCES := $(wildcard tests/sim/sim-*.c)
SIM_PROGRAMS := $(SIM_SOURCES:tests/sim/%.c=$(B)/sim/%)
SIM_SUPPORT := $(patsubst tests/%.c,$(B)/obj/%.o,$(filter-out $(SIM_SOURCES),$(wildcard tests/sim/*.c)))
# The simulator is tested itself: under the sanitizers it goes with the unit tests.
UNIT_SUPPORT += $(patsubst tests/sim/%.c,$(B)/asan-sim/%.o,$(filter-out $(SIM_SOURCES),$(wildcard tests/sim/*.c)))
BENCH_SOURCES := $(wildcard tests/bench/numabench.c tests/bench/numabench/*.c)
BENCH_OBJECTS := $(BENCH_SOURCES:tests/%.c=$(B)/obj/%.o)
# Only what the fuzz targets need: what else the library has would be built for nothing.
FUZZ_CC ?= clang
FUZZ_SOURCES := $(wildcard $(addprefix src/,config*.c topology*.c util/maps.c util/procfs.c util/scan.c \
    attribute/numa_maps.c attribute/vma_names.c attribute/vmas.c discover/proc_text.c discover/process.c \
    $(addprefix sample/,scope/cgroup_*.c timer/code_cache.c timer/x86_*.c mem/mem_sample.c perf/perf_ring.c \
        perf/perf_sample.c kvm/qemu_*.c trace/replay_*.c trace/trace*.c)))
FUZZ_OBJECTS := $(FUZZ_SOURCES:src/%.c=$(B)/fuzz/obj/%.o)
FUZZ_PROGRAMS := $(patsubst tests/fuzz/%.c,$(B)/fuzz/bin/%,$(wildcard tests/fuzz/*.c))
VM_PROGRAMS := $(patsubst tests/vm/programs/%.c,$(B)/bin/%,$(wildcard tests/vm/programs/*.c))

.PHONY: all
all: $(B)/bin/numabd $(B)/bin/numabctl  ## builds numabd and numabctl

$(B)/bin/numabd: $(B)/obj/daemon/main.o $(B)/libnumabd.a
$(B)/bin/numabctl: $(B)/obj/ctl/main.o $(B)/libnumabd.a
$(B)/bin/numabd $(B)/bin/numabctl:
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -pie -Wl,-z,relro,-z,now $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/libnumabd.a: $(LIB_OBJECTS)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^

$(B)/obj/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# The tests' build: the same sources under AddressSanitizer and UndefinedBehaviorSanitizer.
TEST_FLAGS = -std=gnu11 -O1 -g $(WARNINGS) $(SANITIZE) $(CFLAGS)

$(B)/libnumabd-asan.a: $(ASAN_OBJECTS)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^

$(B)/asan/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(TEST_FLAGS) -MMD -MP -c -o $@ $<

$(B)/asan-unit/%.o: tests/unit/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) -Itests/unit -Itests $(TEST_FLAGS) -MMD -MP -c -o $@ $<

$(B)/asan-sim/%.o: tests/sim/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) -Itests $(TEST_FLAGS) -MMD -MP -c -o $@ $<

$(B)/unit/%: $(B)/asan-unit/%.o $(UNIT_SUPPORT) $(B)/libnumabd-asan.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(TEST_FLAGS) -o $@ $^ $(LIBS) -lcmocka

$(B)/bin/numabd-asan: $(B)/asan/daemon/main.o $(B)/libnumabd-asan.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(TEST_FLAGS) -o $@ $^ $(LIBS)

$(B)/bin/numabctl-asan: $(B)/asan/ctl/main.o $(B)/libnumabd-asan.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(TEST_FLAGS) -o $@ $^ $(LIBS)

# The fuzz targets: libFuzzer's, which only clang has.
FUZZ_FLAGS = -std=gnu11 -O1 -g $(WARNINGS) $(SANITIZE)

$(B)/fuzz/libnumabd.a: $(FUZZ_OBJECTS)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^

$(B)/fuzz/obj/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(FUZZ_CC) $(CPPFLAGS_ALL) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

# The target's own branches are not counted: they say nothing about the parser.
$(B)/fuzz/obj/target/%.o: tests/fuzz/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(FUZZ_CC) $(CPPFLAGS_ALL) $(FUZZ_FLAGS) -MMD -MP -c -o $@ $<

$(B)/fuzz/bin/%: $(B)/fuzz/obj/target/%.o $(B)/fuzz/libnumabd.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS)

# The programs that the tests run: without the library, so that they do not share its faults.
PROGRAM_FLAGS = -std=gnu11 $(OPTIMISE) $(WARNINGS) $(CFLAGS)

$(B)/bin/numabench: $(BENCH_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(PROGRAM_FLAGS) $(LDFLAGS) -o $@ $^ -lnuma -pthread -lm

$(B)/obj/bench/%.o: tests/bench/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(PROGRAM_FLAGS) -MMD -MP -c -o $@ $<

# Simulations run for long: optimised, without sanitizers.
$(B)/obj/sim/%.o: tests/sim/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) -Itests $(PROGRAM_FLAGS) -MMD -MP -c -o $@ $<

$(B)/sim/%: $(B)/obj/sim/%.o $(SIM_SUPPORT) $(B)/libnumabd.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(PROGRAM_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

BENCHES := $(patsubst tests/bench/%.c,$(B)/bench/%,$(filter-out tests/bench/numabench.c,$(wildcard tests/bench/*.c)))
# Those that need the simulator.
$(B)/bench/filters: $(SIM_SUPPORT)
$(B)/bench/%: tests/bench/%.c $(B)/libnumabd.a Makefile
	@mkdir -p $(@D) $(B)/obj/bench
	$(call say,LD,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) -Itests $(PROGRAM_FLAGS) -MMD -MP -MF $(B)/obj/bench/$*.d -o $@ $< $(filter %.o,$^) $(B)/libnumabd.a $(LIBS)

$(B)/bin/%: tests/vm/programs/%.c Makefile
	@mkdir -p $(@D) $(B)/obj/vm
	$(call say,LD,$@)
	$(Q)$(CC) -D_GNU_SOURCE $(PROGRAM_FLAGS) -MMD -MP -MF $(B)/obj/vm/$*.d -MT $@ -o $@ $< -lnuma -pthread

.SECONDARY:
DEPENDENCIES := $(foreach depth,*.d */*.d */*/*.d,$(addsuffix /$(depth),$(addprefix $(B)/,obj asan fuzz/obj)))
-include $(wildcard $(DEPENDENCIES) $(B)/asan-unit/*.d $(B)/asan-sim/*.d)

.PHONY: deps deps-demo deps-check deps-kernel
deps:  ## installs what building needs (Debian)
	@tests/deps build
deps-demo deps-check deps-kernel:
	@tests/deps $(@:deps-%=%)

.PHONY: programs unit-programs sim-programs fuzz-programs
programs: all $(B)/bin/numabench $(VM_PROGRAMS)
unit-programs: $(UNIT_TESTS) $(VM_PROGRAMS)
sim-programs: $(SIM_PROGRAMS)
# Without clang there are none, and tests/fuzz/run says so.
fuzz-programs:
	@! FUZZ_CC="$(FUZZ_CC)" tests/fuzz/compiler || $(MAKE) --no-print-directory $(FUZZ_PROGRAMS)
$(B)/unit/test-timer-regions: | $(B)/bin/regions

# What is missing is installed first; only then can make look at it, hence the second make.
.PHONY: demo
demo: deps-demo  ## installs what is missing, builds, and shows numabd at work on two nodes
	@$(MAKE) --no-print-directory -s -j$$(nproc) programs
	@tests/demo/run

.PHONY: check
check: deps-check  ## installs what is missing, builds, and runs all tests
	@$(MAKE) --no-print-directory -s -j$$(nproc) programs unit-programs sim-programs fuzz-programs
	@tests/run

.PHONY: check-quick
check-quick: programs unit-programs  ## checks and unit tests, without the virtual machine
	@tests/run checks unit

.PHONY: sim sim-long
sim: sim-programs  ## the pipeline on simulated machines; NAMES="phase_change", SEED=7
	@tests/sim/run $(if $(SEED),-s $(SEED)) $(NAMES)
sim-long: sim-programs  ## the simulations that take minutes
	@tests/sim/run -l $(if $(SEED),-s $(SEED))

.PHONY: check-vm
check-vm: programs  ## tests in the virtual machine; CASES="harmless lifecycle" runs those
	@tests/vm/run $(CASES)

.PHONY: fuzz
fuzz: fuzz-programs  ## fuzzes each parser for FUZZ_SECONDS (60); NAMES="maps trace" fuzzes those
	@tests/fuzz/run $(NAMES)

.PHONY: bench
bench: programs $(BENCHES)  ## measures what numabd costs; NAMES="sampling_cost" runs those
	@tests/bench/run $(NAMES)

.PHONY: vm-kernel
vm-kernel: deps-kernel  ## builds a kernel with idle-page tracking for the virtual machine (12 minutes)
	@tests/vm/vm-kernel

.PHONY: format
format:  ## formats all sources
	find src include tests -name '*.[ch]' | xargs clang-format -i

# An administrator's own numabd.conf stays; a newer sample then goes beside it.
.PHONY: install
install: all  ## installs below PREFIX (/usr/local), with DESTDIR in front
	@install -D -m 755 $(B)/bin/numabd $(DESTDIR)$(PREFIX)/sbin/numabd
	@install -D -m 755 $(B)/bin/numabctl $(DESTDIR)$(PREFIX)/bin/numabctl
	@install -d $(DESTDIR)$(UNITDIR) $(DESTDIR)/etc
	@sed 's|@SBINDIR@|$(PREFIX)/sbin|; s|@BINDIR@|$(PREFIX)/bin|' systemd/numabd.service \
	    >$(DESTDIR)$(UNITDIR)/numabd.service
	@chmod 644 $(DESTDIR)$(UNITDIR)/numabd.service
	@install -D -m 644 man/numabd.8 $(DESTDIR)$(MANDIR)/man8/numabd.8
	@install -D -m 644 man/numabctl.1 $(DESTDIR)$(MANDIR)/man1/numabctl.1
	@install -D -m 644 man/numabd.conf.5 $(DESTDIR)$(MANDIR)/man5/numabd.conf.5
	@if [ ! -e $(DESTDIR)/etc/numabd.conf ]; then \
	    install -m 644 etc/numabd.conf $(DESTDIR)/etc/numabd.conf; \
	elif ! cmp -s etc/numabd.conf $(DESTDIR)/etc/numabd.conf; then \
	    install -m 644 etc/numabd.conf $(DESTDIR)/etc/numabd.conf.new; \
	    echo "kept $(DESTDIR)/etc/numabd.conf, the new sample is numabd.conf.new beside it"; \
	fi
	@echo "installed below $(DESTDIR)$(PREFIX); next: systemctl daemon-reload," \
	    "systemctl enable --now numabd"

.PHONY: uninstall
uninstall:  ## removes what install put there, but not /etc/numabd.conf
	@rm -f $(DESTDIR)$(PREFIX)/sbin/numabd $(DESTDIR)$(PREFIX)/bin/numabctl \
	    $(DESTDIR)$(UNITDIR)/numabd.service $(DESTDIR)$(MANDIR)/man8/numabd.8 \
	    $(DESTDIR)$(MANDIR)/man1/numabctl.1 $(DESTDIR)$(MANDIR)/man5/numabd.conf.5 \
	    $(DESTDIR)/etc/numabd.conf.new

.PHONY: clean
clean:  ## removes build/
	rm -rf $(B)

.PHONY: help
help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1 \2/p' Makefile | \
	    awk '{ $$2 = sprintf("%-12s", $$2); print "  " $$0 }'
