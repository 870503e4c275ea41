# topology: n2
# What must not be touched is not: observed, excluded, bound, unmovable.
. /test/lib.sh

observe() {
    bench work numa02 --pin --placement node:0 --size 64 --seconds 120 --pages 4k
    before=$(vmstat pgmigrate_success)
    numabd_start --observe
    until [ "$(stat pages_observed)" -gt 8192 ] || [ "$(stat n_rounds)" -gt 30 ]; do sleep 0.5; done
    after=$(vmstat pgmigrate_success)
    check "observe: counts what it would move" "$(stat pages_observed) pages" \
        [ "$(stat pages_observed)" -gt 6000 ]
    check "observe: moves nothing by its own count" "$(stat pages_moved)" \
        [ "$(stat pages_moved)" -eq 0 ]
    check "observe: moves nothing by the kernel's" "$before -> $after" [ "$before" -eq "$after" ]
    check "observe: the share stays" "$(remote work) %" [ "$(remote work)" -ge 40 ]
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
    printf '[exclude]\ncomm = twin\n' >/tmp/numabd.conf
    before=$(pages_on $out 1)
    numabd_start --config /tmp/numabd.conf
    check "excluded twin: the other converges" "$(remote in) %" converge in
    check "excluded twin: its pages stay" "$before -> $(pages_on $out 1) pages on node 1" \
        [ "$(pages_on $out 1)" -le $((before + 8)) ]
    check "excluded twin: its share stays" "$(remote out) %" [ "$(remote out)" -ge 40 ]
    check "excluded twin: counted" "$(stat n_excluded)" [ "$(stat n_excluded)" -ge 1 ]
    reload_takes_in_the_twin
    numabd_stop
    stop $in $out
}

# The configuration is read again under load: a bad one changes nothing, a good one holds.
reload_takes_in_the_twin() {
    printf '[exclude]\ncom = twin\n' >/tmp/numabd.conf
    kill -HUP $numabd
    wait_rounds 2
    check "bad reload: one exact line" "$(cat $LOG/numabd)" \
        grep -q 'numabd.conf:2: .*com' $LOG/numabd
    check "bad reload: the old rules hold" "$(stat n_excluded)" [ "$(stat n_excluded)" -ge 1 ]
    printf '[exclude]\ncomm = nobody\n' >/tmp/numabd.conf
    kill -HUP $numabd
    wait_rounds 2
    ROUNDS=$(($(stat n_rounds) - $(stat sampled_round) + 12))
    check "good reload: the twin is taken in and converges" "$(remote out) %" converge out
    ROUNDS=12
}

bound() {
    bench bound numa02 --pin --placement hard-bind --size 48 --seconds 120 --pages 4k
    stop $pid
    numactl --membind=0 numabench numa02 --pin --size 48 --seconds 120 --pages 4k \
        >$LOG/bound 2>&1 &
    bound=$!
    until grep -q '1 s  passes' $LOG/bound; do sleep 0.2; done
    bench free numa02 --pin --placement node:0 --size 48 --seconds 120 --pages 4k
    before=$(pages_on $bound 1)
    numabd_start
    check "bound twin: the free one converges" "$(remote free) %" converge free
    wait_rounds 8
    check "bound twin: it never moves" "$before -> $(pages_on $bound 1) pages on node 1" \
        [ "$(pages_on $bound 1)" -eq "$before" ]
    check "bound twin: the reason is counted" "$(numabctl status)" \
        sh -c 'numabctl status | grep -q "bind [1-9]"'
    numabd_stop
    stop $bound $pid
}

held() {
    bench work numa02 --pin --placement node:1 --size 64 --seconds 120 --pages 4k --hold-page
    before=$(vmstat pgmigrate_success)
    numabd_start
    check "held page: everything else moves" "$(remote work) %" converge work
    wait_rounds 6
    look
    moved=$(field pages_moved) failed_pages=$(field pages_failed) tried=$(field pages_tried)
    kernel=$(($(vmstat pgmigrate_success) - before))
    check "held page: counted as failed" "$failed_pages" [ "$failed_pages" -ge 1 ]
    check "held page: few failures" "$failed_pages" [ "$failed_pages" -le 64 ]
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
