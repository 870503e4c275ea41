# Shared by the cases; runs in the guest's shell (busybox ash).
#
# A case prints "ok - NAME", "not ok - NAME: WHY" or "skip - NAME: WHY" for each thing that it shows.
# Deadlines count rounds of numabd, not seconds: emulation makes seconds mean little.

CONVERGED=5      # percent remote that counts as converged
ROUNDS=12        # allowed from the first sample on
LOG=${LOG:-/tmp/logs}
LOOK=$LOG.look
mkdir -p $LOG

ok() {
    echo "ok - $1"
}

not_ok() {
    echo "not ok - $1: $2"
    for log in $LOG/*; do
        echo "--- $log" && tail -n 15 "$log"
    done
    numabctl status 2>&1 && numabctl ps 2>&1
    failed=1
}

skip() {
    echo "skip - $1: $2"
}

# check NAME WHY COMMAND...
check() {
    check_name=$1 check_why=$2
    shift 2
    if "$@"; then ok "$check_name"; else not_ok "$check_name" "$check_why"; fi
}

# within LOW VALUE HIGH: no value is not within.
within() {
    [ -n "$2" ] && [ "$2" -ge "$1" ] && [ "$2" -le "$3" ]
}

# A field of the status kept by look, by its name in the JSON form.
field() {
    tr ',{}' '\n\n\n' <$LOOK | sed -n "s/^ *\"$1\": *\"*\([^\"]*\)\"*\$/\1/p" | head -n 1
}

look() {
    numabctl status --json >$LOOK
}

# A field of the status as it is now.
stat() {
    look && field "$1"
}

# What the sources say of themselves, in full: field takes commas for the end.
sampling() {
    numabctl status | sed -n 's/^sampling *//p'
}

# bench NAME ARGS...: starts a workload; its pid is then in $pid and its output in $LOG/NAME.
bench() {
    bench_name=$1
    shift
    # Emptied here: the workload's own shell does so later, and the last one's lines would be read.
    : >$LOG/"$bench_name"
    numabench "$@" >$LOG/"$bench_name" 2>&1 &
    pid=$!
    until grep -q '1 s  passes' $LOG/"$bench_name"; do
        kill -0 $pid 2>/dev/null || return 1
        sleep 0.2
    done
}

# The newest remote share of a workload, in whole percent, rounded up; empty when it is not known.
remote() {
    sed -n 's/.*remote *\([0-9.][0-9.]*\) %.*/\1/p' $LOG/"$1" | tail -n 1 | awk '{print int($1 + 0.999)}'
}

# A field of a workload's last line.
result() {
    sed -n "s/.*RESULT.* $2=\([^ ]*\).*/\1/p" $LOG/"$1"
}

# enter_service [NAME]: what the case starts from here on is in a control group of its own, as a
# service is, until leave_service. Programs stay in the root group otherwise.
enter_service() {
    mkdir -p /sys/fs/cgroup/"${1-bench.service}"
    echo $$ >/sys/fs/cgroup/"${1-bench.service}"/cgroup.procs
}

leave_service() {
    echo $$ >/sys/fs/cgroup/cgroup.procs
}

# bench_in SERVICE NAME ARGS...: as bench, in a service.
bench_in() {
    enter_service "$1"
    shift
    bench "$@"
    leave_service
}

# bench_at MASK NAME ARGS...: as bench, on these CPUs (hexadecimal) only.
bench_at() {
    bench_mask=$(taskset -p $$ | sed 's/.*: //')
    taskset -p "$1" $$ >/dev/null
    shift
    bench "$@"
    taskset -p "$bench_mask" $$ >/dev/null
}

# Ends workloads and waits until they have said their last line.
stop() {
    for stop_pid; do
        kill "$stop_pid" 2>/dev/null
        wait "$stop_pid" 2>/dev/null
    done
}

# conf [DAEMON [SAMPLING [SECTIONS]]]: writes the configuration. An emulated CPU needs many times
# longer for a sample than a real one, so both budgets are larger than their defaults.
conf() {
    printf '[daemon]\ncpu_budget = 200 %%\n%b\n[sampling]\nsampling_budget = 30 %%\n%b\n%b\n' \
        "${1-}" "${2-}" "${3-}" >/etc/numabd.conf
}

# Page faults of a process that needed no I/O.
minor_faults() {
    sed 's/.*) //' /proc/"$1"/stat | cut -d' ' -f8
}

# Local timer interrupts of all CPUs since boot.
timer_interrupts() {
    awk '/^ *LOC:/ {for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]+$/) sum += $i} END {print sum}' \
        /proc/interrupts
}

# numabd_start [ARGS...]: waits until it answers; its pid is then in $numabd.
numabd_start() {
    numabd "$@" >$LOG/numabd 2>&1 &
    numabd=$!
    until numabctl status >/dev/null 2>&1; do
        kill -0 $numabd 2>/dev/null || return 1
        sleep 0.2
    done
}

numabd_stop() {
    kill $numabd 2>/dev/null
    wait $numabd
    numabd_status=$?
}

# Waits until numabd has done N more rounds (or does not answer any more).
wait_rounds() {
    rounds_now=$(stat n_rounds)
    [ -n "$rounds_now" ] || return 1
    rounds_until=$((rounds_now + $1))
    while look; do
        rounds_now=$(field n_rounds)
        [ -n "$rounds_now" ] || return 1
        [ "$rounds_now" -lt $rounds_until ] || return 0
        sleep 0.5
    done
    return 1
}

# wait_field FIELD LEAST ROUNDS: waits until a counter is so large, at most until round ROUNDS.
wait_field() {
    while look; do
        value=$(field "$1") rounds_now=$(field n_rounds)
        [ -n "$value" ] && [ -n "$rounds_now" ] || return 1
        [ "$value" -lt "$2" ] || return 0
        [ "$rounds_now" -lt "$3" ] || return 1
        sleep 0.2
    done
    return 1
}

# What the workload says about itself when numabd no longer moves anything. On a busy host its lines, one
# a second, come late, and are about a moment before.
settled() {
    kill -STOP $numabd
    settled_lines=$(($(wc -l <$LOG/"$1") + 2)) settled_tries=0
    while [ "$(wc -l <$LOG/"$1")" -lt $settled_lines ] && [ $settled_tries -lt 300 ]; do
        settled_tries=$((settled_tries + 1))
        sleep 0.2
    done
    kill -CONT $numabd
    share=$(remote "$1")
    [ -n "$share" ] && [ "$share" -le $CONVERGED ]
}

# converge NAME: waits until the workload's remote share is low, at most $ROUNDS rounds after the
# first sample; $rounds_taken then tells how many it took.
converge() {
    while :; do
        look || return 1
        sampled=$(field sampled_round) rounds_now=$(field n_rounds) share=$(remote "$1")
        # An empty operand makes [ fail like a comparison that does not hold.
        [ -n "$sampled" ] && [ -n "$rounds_now" ] && [ -n "$share" ] || return 1
        rounds_taken=$((rounds_now - sampled + 1))
        [ "$sampled" -gt 0 ] || rounds_taken=0
        # The workload's own figure covers its last second: it shows a round one round later.
        [ "$share" -gt $CONVERGED ] || [ $rounds_taken -gt $((ROUNDS + 1)) ] || return 0
        # Between two looks some rounds may pass.
        [ $rounds_taken -le $((ROUNDS + 4)) ] || return 1
        [ $rounds_taken -lt $ROUNDS ] || { settled "$1" && return 0 || return 1; }
        [ "$rounds_now" -le $((ROUNDS * 3)) ] || return 1
        sleep 0.5
    done
}

# found [N]: waits until numabd has found N processes to balance (1). Where nothing is sampled that would
# tell of a new one, it is found when all are listed, which is done the more seldom the more it costs.
found() {
    check "a new process is found" "$(stat n_balanced) balanced" \
        wait_field n_balanced "${1-1}" $(($(stat n_rounds) + 60))
}

# converge_late NAME: as converge, for a workload that begins when numabd has sampled for long.
converge_late() {
    look || return 1
    late_rounds=$(($(field n_rounds) - $(field sampled_round) + 1))
    ROUNDS=$((ROUNDS + late_rounds))
    converge "$1"
    late_status=$?
    ROUNDS=$((ROUNDS - late_rounds)) rounds_taken=$((rounds_taken - late_rounds))
    return $late_status
}

# planned_soon NAME SOURCES ARGS...: all that is misplaced of a workload of 64 MiB (half of it) is
# planned in the rounds 1 to 4 from the first sample on, and being observed causes it no page faults.
planned_soon() {
    planned_name=$1 planned_sources=$2
    shift 2
    bench_in bench.service work numa02 --pin --placement node:0 --size 64 --seconds 120 "$@"
    misplaced work 30
    conf '' "sources = $planned_sources"
    numabd_start --observe
    faults=$(minor_faults $pid)
    until sampled=$(stat sampled_round) && [ "$sampled" -gt 0 ]; do sleep 0.1; done
    wait_field n_rounds $((sampled + 3)) $((sampled + 3))
    look
    echo "# round $(field n_rounds), first sample in $sampled: $(field pages_observed) pages"
    # The look can come one round late, never early.
    check "$planned_name: all misplaced bytes are planned within 4 rounds" \
        "$(field pages_observed) of 8192 pages in round $(field n_rounds), sampled in $sampled" \
        within 8000 "$(field pages_observed)" 100000
    wait_rounds 5
    after=$(minor_faults $pid)
    check "$planned_name: causes no faults in the target" "$faults -> $after" \
        [ "$faults" -eq "$after" ]
    numabd_stop
    stop $pid
}

# log_has TEXT TIMES: the log of numabd has so many lines with it.
log_has() {
    [ "$(grep -c "$1" $LOG/numabd)" -eq "$2" ]
}

# A counter of /proc/vmstat.
vmstat() {
    sed -n "s/^$1 //p" /proc/vmstat
}

# misplaced NAME SHARE: the workload is far enough from its threads to show anything. Its first line is
# measured before it begins to work; later ones scatter, as threads get more or less time.
misplaced() {
    before=$(sed -n 's/.*remote *\([0-9]*\).*/\1/p' $LOG/"$1" | head -n 1)
    check "$1 starts misplaced" "only $before % remote" within "$2" "$before" 100
}

# Pages of a process on a node, over all its mappings.
pages_on() {
    tr ' ' '\n' </proc/"$1"/numa_maps | sed -n "s/^N$2=//p" | awk '{sum += $1} END {print sum + 0}'
}

failed=0
conf
