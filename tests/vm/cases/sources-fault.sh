# topology: n2
# write_fault alone: a writing workload comes to 5 % remote or less; nobody else's bits are cleared.
. /test/lib.sh

# alone NAME ARGS...: an emulated CPU needs 1 us a page to clear: 40 MiB are within the 20 ms that a
# clear may take.
alone() {
    name=$1
    shift
    bench work numa02 --pin --placement node:0 --seconds 120 --access write "$@"
    misplaced work 30
    conf 'min_rss = 8 MiB' 'sources = write_fault' '[write_fault]\ncomm = numabench'
    numabd_start
    check "write_fault alone, $name converges within $ROUNDS rounds" "$(remote work) % remote" \
        converge work
    echo "# $name: $rounds_taken rounds, $(sampling)"
    check "write_fault: no other source" "$(stat sources)" [ "$(stat sources)" = write_fault ]
    numabd_stop
    stop $pid
}

too_large() {
    bench work numa02 --pin --size 800 --seconds 120 --pages 4k --access write
    conf '' 'sources = write_fault' '[write_fault]\ncomm = numabench'
    numabd_start
    for try in 1 2 3 4 5 6 7 8 9 10; do
        numabctl status >$LOG/status
        ! grep -q 'of 1 allowed' $LOG/status || break
        wait_rounds 1
    done
    wait_rounds 3
    numabctl status >$LOG/status
    check "a huge process is refused with its reason" "$(cat $LOG/status)" \
        grep -q 'refused: clearing would stop it for over 20 ms' $LOG/status
    check "a huge process is never cleared" "$(cat $LOG/status)" grep -q ' 0 clears' $LOG/status
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
    check "it was refused for that reason" "$(sampling)" \
        sh -c 'numabctl status | grep -q "clear_refs\|own soft-dirty"'
    numabd_stop
}

ROUNDS=20
alone '4 KiB' --size 32 --pages 4k
# Each thread's part begins and ends in the middle of 8 MiB, the next larger range of evidence.
alone 'huge, odd parts' --size 40 --pages huge
too_large
others_bits_stay
exit $failed
