# topology: n2
# What --record writes while numabd balances is read back by --replay: the same processes, as many bytes
# to move of each, and the same remote share to begin with.
. /test/lib.sh

# The bytes that the replay plans to move of a process, of lines as
# "round 7: 4711 7f0000000000-7f0000200000 2 MiB node 0 -> 1".
planned_bytes() {
    sed -n "s/^round [0-9]*: $1 \([0-9a-f]*\)-\([0-9a-f]*\) .*/\1 \2/p" $LOG/replay | (
        sum=0
        while read -r start end; do
            sum=$((sum + 0x$end - 0x$start))
        done
        echo $sum
    )
}

# A field of a process as ps tells it while the daemon runs.
of_process() {
    numabctl ps --json | sed 's/"nodes":\[[^]]*\]//g' | tr '{}' '\n\n' | grep "\"pid\":$1," | tr ',' '\n' |
        sed -n "s/^\"$2\":\"*\([^\"]*\)\"*$/\1/p"
}

# "remote access  48.1 % -> 0.2 %", in hundredths of a percent.
replayed_first() {
    sed -n 's/^remote access  \([0-9]*\)\.\([0-9]\) % -> .*/\1\20/p' $LOG/replay
}

bench work numa01_threadlocal --pin --placement node:0 --size 96 --seconds 120 --pages 4k
misplaced work 30
pids=$(sed -n 's/^numabench .* pid \([0-9 ]*\) *threads.*/\1/p' $LOG/work)
numabd_start --record /tmp/trace
check "recording: numabd balances all the same" "$(remote work) % remote" converge work
wait_rounds 3
look
first=$(field remote_first_permyriad) n_balanced=$(field n_balanced)
for one in $pids; do
    of_process "$one" moved_bytes >/tmp/moved."$one"
done
numabd_stop
stop $pid
check "recording: numabd ends well" "exit status $numabd_status" [ "$numabd_status" -eq 0 ]
echo "# $(wc -c </tmp/trace) bytes, $(grep -c '^round ' /tmp/trace) rounds," \
    "$(grep -c '^a ' /tmp/trace) accesses"
check "the trace is for its owner only" "$(ls -l /tmp/trace)" [ "$(busybox stat -c %a /tmp/trace)" = 600 ]

numabd --replay /tmp/trace >$LOG/replay 2>$LOG/replay.errors
status=$?
check "replay: reads the trace to its end" "exit status $status, $(cat $LOG/replay.errors)" \
    sh -c "[ $status -eq 0 ] && [ ! -s $LOG/replay.errors ]"
check "replay: the same processes" "$(grep '^processes' $LOG/replay), $n_balanced when it was recorded" \
    grep -q "^processes  $n_balanced balanced" $LOG/replay
for one in $pids; do
    moved=$(cat /tmp/moved."$one") planned=$(planned_bytes "$one")
    echo "# process $one: $((moved >> 20)) MiB moved, $((planned >> 20)) MiB planned in the replay"
    check "replay: plans as much of each process as was moved" "$planned bytes, $moved when recorded" \
        within $((moved * 9 / 10)) "$planned" $((moved * 11 / 10))
done
echo "# remote share at first: $first, replayed $(replayed_first)"
check "replay: the remote share begins where it began" "$(replayed_first), $first when recorded" \
    within $((first - 500)) "$(replayed_first)" $((first + 500))
numabd --replay /tmp/trace >/tmp/again
check "replay: decides the same each time" "$(diff $LOG/replay /tmp/again | head -n 5)" \
    cmp -s $LOG/replay /tmp/again
exit $failed
