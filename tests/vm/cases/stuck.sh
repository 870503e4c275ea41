# topology: n2
# A target whose memory is never served: numabd goes on for all others.
. /test/lib.sh

# The longest of ten calls, in hundredths of a second.
slowest_call() {
    slowest=0
    for call in 1 2 3 4 5 6 7 8 9 10; do
        begin=$(cut -d' ' -f1 /proc/uptime | tr -d .)
        numabctl status >/dev/null || return 1
        took=$(($(cut -d' ' -f1 /proc/uptime | tr -d .) - begin))
        [ $took -le $slowest ] || slowest=$took
        sleep 0.3
    done
    echo $slowest
}

unserved_fault 120 >$LOG/unserved 2>&1 &
unserved=$!
until grep -q ready $LOG/unserved; do sleep 0.2; done
bench work numa02 --pin --placement node:0 --size 64 --seconds 120 --pages 4k
misplaced work 30
conf
fed_watchdog 3000 numabd >$LOG/numabd 2>&1 &
numabd=$!
until numabctl status >/dev/null 2>&1; do sleep 0.2; done
ROUNDS=20
check "beside an unserved target the other converges" "$(remote work) % remote" converge work
for try in 1 2 3 4 5 6 7 8 9 10; do
    state=$(numabctl ps | awk -v pid=$unserved '$1 == pid {print $NF}')
    [ "$state" = stuck ] && break
    wait_rounds 1
done
check "the unserved target is stuck" "state $state" [ "$state" = stuck ]
slowest=$(slowest_call)
echo "# slowest of ten calls: $slowest hundredths of a second"
# Emulated, and beside four busy threads: what matters is that it never waits for the target.
check "control calls are answered meanwhile" "$slowest hundredths" within 0 "$slowest" 150
numabd_stop
check "the watchdog was fed" "$(tail -n 1 $LOG/numabd)" [ $numabd_status -eq 0 ]
echo "# $(tail -n 1 $LOG/numabd)"
stop $unserved $pid
exit $failed
