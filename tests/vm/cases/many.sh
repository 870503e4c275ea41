# topology: n2
# only: with it the whole run takes more than 20 minutes
# A process with as many VMAs as the kernel allows and 1,024 threads, 16 of them at work: numabd brings home what
# they use, stays small, and answers meanwhile. Figures are printed after "#".
#   many.sh [SECONDS]: so long it is looked at, and then called; 20 without the argument
. /test/lib.sh
LOOKED_AT=${1:-20}
HWM_MOST=65536 # KiB

# CPU time in ns: of numabd's loop, and of the workers.
loop_nsec() {
    cut -d' ' -f1 /proc/$numabd/task/$numabd/schedstat
}
all_nsec() {
    cat /proc/$numabd/task/*/schedstat | awk '{sum += $1} END {printf "%.0f\n", sum}'
}

# Since boot, in ms; the clock has 10 ms.
now_msec() {
    awk '{printf "%.0f\n", $1 * 1000}' /proc/uptime
}

# call NAME COMMAND...: one control call, with its time in $LOG.NAME; counted when it gets no answer.
call() {
    call_name=$1 call_start=$(now_msec)
    shift
    calls=$((calls + 1))
    "$@" >$LOOK."$call_name" 2>&1 || unanswered=$((unanswered + 1))
    echo $(($(now_msec) - call_start)) >>$LOG."$call_name"
}

longest() {
    sort -n $LOG."$1" | tail -n 1
}
median() {
    sort -n $LOG."$1" | awk '{line[NR] = $1} END {print line[int((NR + 1) / 2)]}'
}

: >$LOG/many
many_vmas 900 >$LOG/many 2>&1 &
pid=$!
until grep -q '^2 s  passes' $LOG/many; do
    kill -0 $pid 2>/dev/null || break
    sleep 0.2
done
vmas=$(sed -n 's/^\([0-9]*\) VMAs, 1024 threads.*/\1/p' $LOG/many)
check "many: the process has all VMAs that it may have" "$vmas" within 65500 "$vmas" 65536
misplaced many 90

# Reading numa_maps of so many VMAs takes an emulated machine many rounds.
ROUNDS=80
conf
numabd_start
home=0
converge many && home=1
check "many: what 16 of 1,024 threads use comes home within $ROUNDS rounds" \
    "$(remote many) % remote" [ $home = 1 ]
echo "# the hot memory of 16 threads: $(remote many) % remote after $rounds_taken rounds"

# Nobody calls meanwhile: a call costs more than a round.
first=$(stat n_rounds) loop=$(loop_nsec) all=$(all_nsec) seconds=0
while [ $seconds -lt "$LOOKED_AT" ]; do
    sleep 1
    loop_now=$(loop_nsec) all_now=$(all_nsec)
    echo "$loop $loop_now" | awk '{print ($2 - $1) / 1e6}' >>$LOG.loop
    echo "$all $all_now" | awk '{print ($2 - $1) / 1e6}' >>$LOG.all
    loop=$loop_now all=$all_now seconds=$((seconds + 1))
done
rounds_now=$(stat n_rounds)
echo "# CPU time of a second, $seconds of them with $((rounds_now - first)) rounds: the loop" \
    "$(median loop) ms, at most $(longest loop) ms; with the workers $(median all) ms, at most $(longest all) ms"

calls=0 unanswered=0 seconds=$(cut -d. -f1 /proc/uptime)
# All VMAs, page by page, while others call.
(
    call vmas numabctl vmas $pid
    exit $unanswered
) &
vmas_pid=$!
while [ $(($(cut -d. -f1 /proc/uptime) - seconds)) -lt "$LOOKED_AT" ]; do
    call status numabctl status --json
    call ps numabctl ps
    # As much of it as is no call.
    call alone numabctl --version
done
calls=$((calls + 1))
wait $vmas_pid || unanswered=$((unanswered + 1))
hwm=$(awk '/^VmHWM:/ {print $2}' /proc/$numabd/status)
echo "# peak memory (VmHWM) $hwm KiB"
echo "# longest control call: status $(longest status) ms, ps $(longest ps) ms;" \
    "the program alone $(longest alone) ms"
echo "# meanwhile vmas with all its pages: $(longest vmas) ms"
check "many: all control calls are answered" "$unanswered of $calls are not" [ "$unanswered" = 0 ]
check "many: numabd takes less than 64 MiB" "$hwm KiB" within 1 "$hwm" $((HWM_MOST - 1))

passes=$(sed -n 's/.*passes \([0-9]*\) .*/\1/p' $LOG/many | tail -n 1)
sleep 3
later=$(sed -n 's/.*passes \([0-9]*\) .*/\1/p' $LOG/many | tail -n 1)
check "many: the threads go on" "$passes passes, then $later" [ "$later" -gt "$passes" ]
numabd_stop
check "many: numabd ends well" "status $numabd_status" [ "$numabd_status" = 0 ]
stop $pid
echo "# $(grep '^whole' $LOG/many)"
check "many: no page of the process is damaged" "$(tail -n 1 $LOG/many)" \
    grep -q "^$vmas VMAs, 0 pages damaged" $LOG/many
exit $failed
