# topology: n2
# The timer alone, in each scope, with reads and writes, small and huge pages: what is misplaced comes
# to 5 % remote or less; what the timer costs the target and an idle machine.
. /test/lib.sh

# watch SCOPE EXPECT: numabd over what runs; EXPECT is part of what status says about the events.
watch() {
    conf '' "sources = timer\nscope = $1"
    numabd_start
    for name in $names; do
        check "timer, $1, $name converges within $ROUNDS rounds" "$(remote "$name") % remote" \
            converge "$name"
        echo "# $1, $name: $rounds_taken rounds, $(sampling)"
    done
    check "timer, $1: samples where it should" "$(sampling)" \
        sh -c "numabctl status | grep -q 'timer: .*$2'"
    check "timer, $1: no other source" "$(stat sources)" [ "$(stat sources)" = timer ]
    numabd_stop
    stop $pids
}

# two MASK ACCESS: two workloads of two threads, one on each node, with small and huge pages.
two() {
    for pages in 4k huge; do
        bench_at "$1" "$2-$pages" numa02 --threads 2 --pin --placement node:0 --size 48 --seconds 120 \
            --access "$2" --pages $pages
        misplaced "$2-$pages" 30
        names="$names $2-$pages" pids="$pids $pid"
    done
}

# combinations SCOPE EXPECT: reads and writes, small and huge pages, all at once.
combinations() {
    names='' pids=''
    enter_service
    two 0x5 read
    two 0xa write
    leave_service
    watch "$@"
}

chosen() {
    bench_in bench.service read-huge numa02 --pin --placement node:0 --size 64 --seconds 120 \
        --access read --pages huge
    misplaced read-huge 30
    names=read-huge pids=$pid
    watch auto '1 cgroup'
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
    check "idle machine: the service is watched" "$(sampling)" \
        sh -c 'numabctl status | grep -q "timer: 1 cgroup"'
    numabd_stop
    stop $pid
}

ulimit -n 4096
combinations cgroup '1 cgroup'
combinations thread '12 threads'
combinations system 'whole system'
chosen
planned_soon timer timer --pages 4k
idle_machine
exit $failed
