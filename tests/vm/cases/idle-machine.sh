# topology: n2
# only: it waits for four minutes
# What numabd adds to a machine where nothing runs, and that it sees at once when something does.
. /test/lib.sh

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
}

# It sleeps by now; the program belongs to no service that it watches.
woken_up() {
    sleeper=$pid
    bench work numa02 --pin --placement node:0 --size 64 --seconds 120 --pages 4k
    rounds=$(stat n_rounds)
    check "a program that starts on an idle machine is balanced" "$(remote work) % remote" \
        wait_field pages_moved 1 $((rounds + 12))
    echo "# its memory moves $(($(stat n_rounds) - rounds)) rounds after its first second"
    numabd_stop
    stop $pid $sleeper
}

ulimit -n 4096
idle_machine
woken_up
exit $failed
