# topology: n1
# Where nothing can be balanced numabd runs, does nothing, and says why in one line.
. /test/lib.sh

numabd_start
check "one node: idle" "state $(stat state)" [ "$(stat state)" = idle ]
check "one node: says why" "$(numabctl status)" sh -c 'numabctl status | grep -q "one memory node"'
check "one node: one line in the log" "$(cat $LOG/numabd)" [ "$(wc -l <$LOG/numabd)" -eq 1 ]
wakes() { sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' /proc/$numabd/status; }
before=$(wakes)
sleep 3
check "one node: sleeps" "$before -> $(wakes) wake-ups" [ "$(wakes)" -le $((before + 1)) ]
numabd_stop
check "one node: ends well" "exit status $numabd_status" [ "$numabd_status" -eq 0 ]
numabctl status 2>$LOG/ctl
check "no daemon: exit status 3" "exit status $?" [ $? -eq 3 ]
check "no daemon: one line" "$(cat $LOG/ctl)" [ "$(wc -l <$LOG/ctl)" -eq 1 ]
exit $failed
