# topology: n2
# write_fault alone: a writing workload comes to 5 % remote or less; nobody else's bits are cleared.
. /test/lib.sh

alone() {
    bench work numa02 --pin --placement node:0 --size 64 --seconds 120 --pages 4k --access write
    misplaced work 30
    conf '' 'sources = write_fault' '[write_fault]\ncomm = numabench'
    numabd_start
    check "write_fault alone converges within $ROUNDS rounds" "$(remote work) % remote" converge work
    echo "# $rounds_taken rounds, $(stat sampling)"
    check "write_fault: no other source" "$(stat sources)" [ "$(stat sources)" = write_fault ]
    numabd_stop
    stop $pid
}

# Without a rule, and a process that reads its own bits: each would lose data.
others_bits_stay() {
    soft_dirty_user 20 >$LOG/user 2>&1 &
    user=$!
    conf 'min_rss = 0 B' 'sources = write_fault' '[write_fault]\ncomm = *'
    numabd_start
    wait $user
    status=$?
    check "a process that has its own clear_refs open is never cleared" \
        "exit status $status: $(cat $LOG/user)" [ $status -eq 0 ]
    check "it was refused for that reason" "$(stat sampling)" \
        sh -c 'numabctl status | grep -q "clear_refs\|own soft-dirty"'
    numabd_stop
}

alone
others_bits_stay
exit $failed
