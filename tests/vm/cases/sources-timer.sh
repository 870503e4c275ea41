# topology: n2
# The timer alone, in each scope: a misplaced workload comes to 5 % remote or less; what it costs the
# target and an idle machine.
. /test/lib.sh

# In a control group of its own, as a service is. numabench stays in the root group.
enter_service() {
    mkdir -p /sys/fs/cgroup/bench.service
    echo $$ >/sys/fs/cgroup/bench.service/cgroup.procs
}

leave_service() {
    echo $$ >/sys/fs/cgroup/cgroup.procs
}

# try SCOPE EXPECT NAME ARGS...: EXPECT is part of what status says about the events.
try() {
    scope=$1 expect=$2 name=$3
    shift 3
    enter_service
    bench work numa02 --pin --placement node:0 --size 64 --seconds 120 "$@"
    leave_service
    misplaced work 30
    conf '' "sources = timer\nscope = $scope"
    numabd_start
    check "timer, $name converges within $ROUNDS rounds" "$(remote work) % remote" converge work
    echo "# $name: $rounds_taken rounds, $(stat sampling)"
    check "timer, $name: samples where it should" "$(stat sampling)" \
        sh -c "numabctl status | grep -q 'timer: .*$expect'"
    check "timer, $name: no other source" "$(stat sources)" [ "$(stat sources)" = timer ]
    numabd_stop
    stop $pid
}

# All that is misplaced is planned in the rounds 1 to 4 from the first sample on.
planned_within_four_rounds() {
    enter_service
    bench work numa02 --pin --placement node:0 --size 64 --seconds 120 --pages 4k
    leave_service
    misplaced work 30
    conf '' 'sources = timer'
    numabd_start --observe
    faults=$(minor_faults $pid)
    until sampled=$(stat sampled_round) && [ "$sampled" -gt 0 ]; do sleep 0.1; done
    wait_field n_rounds $((sampled + 3)) $((sampled + 3))
    look
    echo "# round $(field n_rounds), first sample in $sampled: $(field pages_observed) pages"
    # 32 of 64 MiB are misplaced; the look can come one round late, never early.
    check "timer: all misplaced bytes are planned within 4 rounds" \
        "$(field pages_observed) of 8192 pages in round $(field n_rounds), sampled in $sampled" \
        within 8000 "$(field pages_observed)" 100000
    wait_rounds 5
    after=$(minor_faults $pid)
    check "timer: causes no faults in the target" "$faults -> $after" [ "$faults" -eq "$after" ]
    numabd_stop
    stop $pid
}

# How often the threads of numabd were woken so far, and CPUs interrupted for its samples.
disturbances() {
    woken=$(cat /proc/$numabd/task/*/status | awk '/^voluntary_ctxt/ {sum += $2} END {print sum}')
    echo $((woken + $(stat n_interrupts)))
}

# Counts over a minute. What the guest has of timer interrupts by itself differs by a quarter from
# minute to minute, so that they are shown with and without numabd, and what is compared with them is
# what numabd adds.
idle_machine() {
    enter_service
    sleeper 64 600 >$LOG/sleeper &
    pid=$!
    leave_service
    until grep -q ready $LOG/sleeper; do sleep 0.2; done
    conf '' 'sources = timer'
    sleep 3
    before=$(timer_interrupts)
    sleep 60
    without=$(($(timer_interrupts) - before))
    numabd_start
    # What it does in its first minute is not what it does all night.
    sleep 75
    before=$(timer_interrupts) own=$(disturbances)
    sleep 60
    with=$(($(timer_interrupts) - before)) own=$(($(disturbances) - own))
    echo "# timer interrupts in a minute: $without without numabd, $with with it"
    check "idle machine: wake-ups and samples of numabd are within 5 % of its timer interrupts" \
        "$own, $without interrupts without it" within 0 $own $((without / 20))
    check "idle machine: the service is watched" "$(stat sampling)" \
        sh -c 'numabctl status | grep -q "timer: 1 cgroup"'
    numabd_stop
    stop $pid
}

ulimit -n 4096
try cgroup '1 cgroup' 'control group, read-only 4 KiB' --access read --pages 4k
try thread 'threads' 'threads, write-only 4 KiB' --access write --pages 4k
try system 'system' 'whole system, mixed huge' --access mixed --pages huge
try auto '1 cgroup' 'chosen, read-only huge' --access read --pages huge
planned_within_four_rounds
idle_machine
exit $failed
