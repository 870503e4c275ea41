# topology: n2
# What must not be touched is not: observed, excluded, bound, unmovable.
. /test/lib.sh

observe() {
    bench work numa02 --pin --placement node:0 --size 64 --seconds 120 --pages 4k
    misplaced work 30
    before=$(vmstat pgmigrate_success)
    numabd_start --observe
    wait_field pages_observed 7000 30
    after=$(vmstat pgmigrate_success)
    check "observe: counts what it would move" "$(stat pages_observed) pages" \
        within 6000 "$(stat pages_observed)" 100000
    check "observe: moves nothing by its own count" "$(stat pages_moved)" \
        [ "$(stat pages_moved)" -eq 0 ]
    check "observe: moves nothing by the kernel's" "$before -> $after" [ "$before" -eq "$after" ]
    check "observe: the share stays" "$(remote work) %" within 25 "$(remote work)" 100
    numabd_stop
    stop $pid
}

excluded() {
    bench in numa02 --pin --placement node:0 --size 48 --seconds 120 --pages 4k
    in=$pid
    cp "$(which numabench)" /tmp/twin
    /tmp/twin numa02 --pin --placement node:0 --size 48 --seconds 120 --pages 4k >$LOG/out 2>&1 &
    out=$!
    until grep -q '1 s  passes' $LOG/out; do sleep 0.2; done
    misplaced in 30
    misplaced out 30
    conf '' '' '[exclude]\ncomm = twin'
    before=$(pages_on $out 1)
    numabd_start
    check "excluded twin: the other converges" "$(remote in) %" converge in
    check "excluded twin: its pages stay" "$before -> $(pages_on $out 1) pages on node 1" \
        within "$before" "$(pages_on $out 1)" $((before + 8))
    check "excluded twin: its share stays" "$(remote out) %" within 25 "$(remote out)" 100
    check "excluded twin: counted" "$(stat n_excluded)" within 1 "$(stat n_excluded)" 1000
    reload_takes_in_the_twin
    numabd_stop
    stop $in $out
}

# The configuration is read again under load: a bad one changes nothing, a good one holds.
reload_takes_in_the_twin() {
    conf '' '' '[exclude]\ncom = twin'
    kill -HUP $numabd
    wait_rounds 2
    check "bad reload: one exact line" "$(cat $LOG/numabd)" \
        grep -q 'numabd.conf:8: .*com' $LOG/numabd
    check "bad reload: the old rules hold" "$(stat n_excluded)" within 1 "$(stat n_excluded)" 1000
    conf '' '' '[exclude]\ncomm = nobody'
    kill -HUP $numabd
    wait_rounds 2
    ROUNDS=$(($(stat n_rounds) - $(stat sampled_round) + 12))
    check "good reload: the twin is taken in and converges" "$(remote out) %" converge out
    ROUNDS=12
}

# Moves the threads of a bound process to the other node: numabench binds its memory to where they
# begin.
swap_threads() {
    for task in /proc/"$1"/task/*; do
        case $(cat "$task/comm") in
        bench-0.0) taskset -p 0xc "${task##*/}" ;;
        bench-0.1) taskset -p 0x3 "${task##*/}" ;;
        esac
    done
    sleep 2
}

# Pages of bound mappings only: the stacks of such a process are free, and follow its threads.
bound_pages_on() {
    grep ' bind:' /proc/"$1"/numa_maps | tr ' ' '\n' | sed -n "s/^N$2=//p" |
        awk '{sum += $1} END {print sum + 0}'
}

# Bound by mbind (its memory) and by numactl (the whole process), beside a free one.
bound() {
    bench mbind numa02 --threads 2 --placement hard-bind --size 48 --seconds 120 --pages 4k
    mbind=$pid
    swap_threads $mbind >$LOG/swap
    numactl --membind=0 numabench numa02 --pin --size 48 --seconds 120 --pages 4k \
        >$LOG/membind 2>&1 &
    membind=$!
    until grep -q '1 s  passes' $LOG/membind; do sleep 0.2; done
    bench free numa02 --pin --placement node:0 --size 48 --seconds 120 --pages 4k
    # Its threads were swapped after its first line.
    check "mbind starts misplaced" "$(remote mbind) % remote" within 95 "$(remote mbind)" 100
    misplaced membind 30
    misplaced free 30
    before="$(bound_pages_on $mbind 0) $(bound_pages_on $mbind 1)" before_membind=$(pages_on $membind 1)
    numabd_start
    check "bound twins: the free one converges" "$(remote free) %" converge free
    wait_rounds 6
    after="$(bound_pages_on $mbind 0) $(bound_pages_on $mbind 1)"
    check "mbind twin: it never moves" "pages on nodes 0, 1: $before -> $after" \
        [ "$after" = "$before" ]
    check "mbind twin: its share stays" "$(remote mbind) %" within 95 "$(remote mbind)" 100
    after=$(pages_on $membind 1)
    check "membind twin: it never moves" "$before_membind -> $after pages on node 1" \
        [ "$after" -eq "$before_membind" ]
    check "membind twin: its share stays" "$(remote membind) %" within 25 "$(remote membind)" 100
    check "bound twins: the reason is counted" "$(numabctl status)" \
        sh -c 'numabctl status | grep -q "bind [1-9]"'
    numabd_stop
    stop $mbind $membind $pid
}

held() {
    bench work numa02 --pin --placement node:1 --size 64 --seconds 120 --pages 4k --hold-page
    misplaced work 30
    before=$(vmstat pgmigrate_success)
    numabd_start
    check "held page: everything else moves" "$(remote work) %" converge work
    wait_rounds 6
    # A stray page may be moving at any time: then the two agree a moment later.
    for try in 1 2 3 4 5 6 7 8 9 10; do
        look
        moved=$(field pages_moved) failed_pages=$(field pages_failed) tried=$(field pages_tried)
        kernel=$(($(vmstat pgmigrate_success) - before))
        [ "$moved" -ne "$kernel" ] || break
        sleep 0.5
    done
    check "held page: counted as failed, and few times" "$failed_pages" within 1 "$failed_pages" 64
    check "held page: the ledger is the kernel's" "$moved moved, kernel says $kernel" \
        [ "$moved" -eq "$kernel" ]
    check "held page: tried = moved + failed" "$tried tried" [ "$tried" -eq $((moved + failed_pages)) ]
    check "held page: the kernel's refusal is in the ledger" "$(numabctl status)" \
        sh -c 'numabctl status | grep -q EAGAIN'
    numabd_stop
    stop $pid
}

observe
excluded
bound
held
exit $failed
