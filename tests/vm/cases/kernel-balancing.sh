# topology: n2-up
# The kernel's own balancing is paused while numabd balances, and put back however numabd ends.
. /test/lib.sh

SYSCTL=/proc/sys/kernel/numa_balancing
JOURNAL=/run/numabd/undo

mode() {
    cat $SYSCTL
}

# is NAME VALUE: of the sysctl.
is() {
    check "$1" "kernel.numa_balancing is $(mode), journal: $(cat $JOURNAL 2>&1)" [ "$(mode)" -eq "$2" ]
}

journal_has() {
    check "$1" "$(cat $JOURNAL 2>&1)" grep -qx "$2" $JOURNAL
}

no_journal() {
    check "$1: no journal is left" "$(cat $JOURNAL 2>&1)" [ ! -e $JOURNAL ]
}

paused() {
    numabd_start "$@"
    wait_rounds 5
}

killed() {
    kill -KILL $numabd
    wait $numabd 2>/dev/null
}

for before in 1 3; do
    echo $before >$SYSCTL || exit 1
    paused
    is "$before: bit 0 is cleared" $((before - 1))
    journal_has "$before: the journal has it" "sysctl kernel.numa_balancing $before $((before - 1))"
    check "$before: status says so" "$(numabctl status)" sh -c "numabctl status | grep -q 'kernel balancing paused'"
    numabd_stop
    is "$before: SIGTERM puts it back" $before
    no_journal "$before"
done

echo 1 >$SYSCTL
paused
killed
is 'SIGKILL: it stays for whoever comes next' 0
numabd --undo >$LOG/undo 2>&1
check '--undo: exit status 0 and a line' "$(cat $LOG/undo)" grep -q 'put back from 0 to 1' $LOG/undo
is '--undo puts it back' 1
no_journal '--undo'

paused
killed
numabd_start --observe
is 'the next start puts it back' 1
check 'the next start says so' "$(cat $LOG/numabd)" grep -q 'put back from 0 to 1' $LOG/numabd
wait_rounds 5
is 'an observer leaves it' 1
check 'an observer says why' "$(numabctl status)" sh -c "numabctl status | grep -q 'numabd only observes'"
numabd --undo >$LOG/undo 2>&1
check '--undo beside a numabd without changes has nothing to do' "$(cat $LOG/undo)" [ ! -s $LOG/undo ]
numabd_stop

paused
numabctl undo
is 'numabctl undo puts it back' 1
wait_rounds 5
is 'and it stays' 1
check 'status says paused' "$(stat state)" [ "$(stat state)" = paused ]
numabctl resume
wait_rounds 5
is 'numabctl resume pauses it again' 0
numabd_stop

paused
numabd --undo >$LOG/undo 2>&1
status=$?
check '--undo is refused while numabd runs' "exit status $status, $(cat $LOG/undo)" \
    sh -c "[ $status -eq 1 ] && grep -q 'numabd is running' $LOG/undo"
echo 1 >$SYSCTL
wait_rounds 5
is 'who turns it on again has the last word' 1
check 'that is said once' "$(cat $LOG/numabd)" [ "$(grep -c 'somebody turned it on again' $LOG/numabd)" -eq 1 ]
killed
numabd --undo >$LOG/undo 2>&1
is 'and nothing is undone later' 1

conf '' '' '[include]\ncomm = numabench'
paused
is 'with an include list it is left' 1
numabd_stop
conf '' '' '[migrate]\nkernel_balancing = leave'
paused
is 'kernel_balancing = leave' 1
conf
kill -HUP $numabd
wait_rounds 5
is 'a reload to the default pauses it' 0
numabd_stop
is 'and it is put back' 1
exit $failed
