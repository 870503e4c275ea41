# topology: n2
# numabctl doctor names what is missing, and its exit status says whether balancing is possible.
. /test/lib.sh

# doctor NAME STATUS PATTERN COMMAND...: runs it, keeps its output, looks for a line.
doctor() {
    name=$1 status=$2 pattern=$3
    shift 3
    "$@" >$LOG/doctor 2>&1
    got=$?
    check "doctor, $name: exit status $status" "$got: $(tail -n 1 $LOG/doctor)" [ $got -eq "$status" ]
    check "doctor, $name: says so" "$(cat $LOG/doctor)" grep -qE "$pattern" $LOG/doctor
}

without() {
    /usr/bin/setpriv --bounding-set "-$1" --inh-caps "-$1" numabctl doctor --local
}

few_files() {
    (ulimit -n 64 && numabctl doctor --local)
}

doctor 'no daemon' 0 '^Balancing is possible' numabctl doctor
cp $LOG/doctor $LOG/plain
check "doctor: soft-dirty bits are there" "$(cat $LOG/plain)" grep -qE '^ *ok +write_fault' $LOG/plain
check "doctor: idle-page tracking is named as missing" "$(cat $LOG/plain)" \
    grep -qE 'missing +CONFIG_IDLE_PAGE_TRACKING' $LOG/plain
check "doctor: says that hardware was never tested" "$(cat $LOG/plain)" \
    grep -qi 'never on hardware' $LOG/plain
doctor 'JSON' 0 '"balancing"' numabctl doctor --json

numabd_start
doctor 'the daemon' 0 'numabd' numabctl doctor
check "doctor asks the daemon" "$(head -n 1 $LOG/doctor)" sh -c "head -n 1 $LOG/doctor | grep -q 'Seen by numabd'"
numabd_stop

echo 3 >/proc/sys/kernel/perf_event_paranoid
doctor 'perf_event_paranoid 3, no CAP_SYS_ADMIN' 1 'missing +timer.*perf_event_paranoid' \
    without sys_admin
doctor 'perf_event_paranoid 3 as root' 0 'kernel.perf_event_paranoid +3' numabctl doctor --local
echo 2 >/proc/sys/kernel/perf_event_paranoid
doctor 'no CAP_PERFMON nor CAP_SYS_ADMIN' 0 'missing +perf per CPU.*CAP_PERFMON' \
    without sys_admin,-perfmon
doctor 'no CAP_SYS_PTRACE' 1 'missing +CAP_SYS_PTRACE' without sys_ptrace
doctor 'no CAP_SYS_NICE' 1 'missing +CAP_SYS_NICE' without sys_nice
doctor 'no CAP_SYS_ADMIN' 0 'missing +CAP_SYS_ADMIN' without sys_admin
doctor '64 files' 0 'missing +RLIMIT_NOFILE +64' few_files
exit $failed
