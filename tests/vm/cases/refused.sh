# topology: n2
# only: with it the whole run takes more than 20 minutes
# The kernel refuses each move, for every reason that it has: it is said at most once, the ledger
# tells the reason and its pages, numabd does not ask again without pause, and the target is unharmed.
. /test/lib.sh

# One line of the error's name, from the ledger: "ENOMEM".
ledger_names() {
    tr -d '\n ' <$LOOK | sed -n 's/.*"errnos":{\([^}]*\)}.*/\1/p' | tr ',' '\n' | sed 's/"\([A-Z]*\)".*/\1/'
}

# refused NUMBER NAME LINES: at most so many lines in the log.
refused() {
    errno=$1 name=$2 lines=$3
    bench work numa02 --pin --placement node:0 --size 32 --seconds 120 --pages 4k --verify
    refuse_moves "$errno" numabd >$LOG/numabd 2>&1 &
    numabd=$!
    until numabctl status >/dev/null 2>&1; do
        kill -0 $numabd 2>/dev/null || break
        sleep 0.2
    done
    check "$name: it is tried" "$(numabctl status)" wait_field pages_failed 1 60
    wait_rounds 6
    look
    tried=$(field pages_tried) failed_pages=$(field pages_failed)
    check "$name: nothing moved" "$(field pages_moved) moved" [ "$(field pages_moved)" -eq 0 ]
    check "$name: what was tried has failed" "$tried tried, $failed_pages failed" \
        [ "$tried" -eq "$failed_pages" ]
    check "$name: the ledger has it alone" "$(ledger_names)" [ "$(ledger_names)" = "$name" ]
    # 32 MiB, half misplaced: 4,096 pages each time, at most once a round (ESRCH: it is learned anew).
    check "$name: it is not asked without pause" "$tried pages tried in 6 rounds" \
        [ "$tried" -le $((8 * 4096)) ]
    check "$name: said at most once" "$(cat $LOG/numabd)" [ "$(wc -l <$LOG/numabd)" -le "$lines" ]
    numabd_stop
    check "$name: ends well" "exit status $numabd_status" [ $numabd_status -eq 0 ]
    stop $pid
    check "$name: the target lost no data" "errors=$(result work errors)" [ "$(result work errors)" = 0 ]
}

# numabd says one line when it starts; EPERM has one more.
refused 1 EPERM 2
refused 3 ESRCH 1
refused 4 EINTR 1
refused 12 ENOMEM 1
refused 13 EACCES 1
refused 16 EBUSY 1
refused 19 ENODEV 1
exit $failed
