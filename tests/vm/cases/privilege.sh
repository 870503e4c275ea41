# topology: n2
# Without privileges numabd starts, does nothing, and says why.
. /test/lib.sh

# By its path: the shell prefers its own, smaller setpriv.

unprivileged() {
    mkdir -p /tmp/nobody && chown 65534:65534 /tmp/nobody
    RUNTIME_DIRECTORY=/tmp/nobody /usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups \
        numabd >$LOG/numabd 2>&1 &
    numabd=$!
    until numabctl --bus /tmp/nobody/bus status >/dev/null 2>&1; do
        kill -0 $numabd || break
        sleep 0.2
    done
    numabctl --bus /tmp/nobody/bus status >$LOG/status
    check "no privileges: runs and is idle" "$(cat $LOG/status)" grep -q ' idle ' $LOG/status
    check "no privileges: names the capability" "$(cat $LOG/status)" grep -q CAP_SYS_ $LOG/status
    check "no privileges: one line in the log" "$(cat $LOG/numabd)" [ "$(wc -l <$LOG/numabd)" -eq 1 ]
    numabd_stop
    check "no privileges: ends well" "exit status $numabd_status" [ $numabd_status -eq 0 ]
}

without() {
    /usr/bin/setpriv --bounding-set "-$1" --inh-caps "-$1" numabd >$LOG/numabd 2>&1 &
    numabd=$!
    until numabctl status >/dev/null 2>&1; do
        kill -0 $numabd || break
        sleep 0.2
    done
    check "without $1: idle" "$(stat state)" [ "$(stat state)" = idle ]
    check "without $1: says so" "$(stat why)" sh -c "numabctl status | grep -qi '$2'"
    numabd_stop
}

no_perf() {
    without_perf numabd >$LOG/numabd 2>&1 &
    numabd=$!
    until numabctl status >$LOG/status 2>/dev/null; do
        kill -0 $numabd || break
        sleep 0.2
    done
    check "no perf in the kernel: idle" "$(cat $LOG/status)" grep -q ' idle ' $LOG/status
    check "no perf in the kernel: says so" "$(cat $LOG/status)" grep -q perf_event_open $LOG/status
    check "no perf in the kernel: one line in the log" "$(cat $LOG/numabd)" \
        [ "$(wc -l <$LOG/numabd)" -eq 1 ]
    numabd_stop
    check "no perf in the kernel: ends well" "exit status $numabd_status" [ $numabd_status -eq 0 ]
}

unprivileged
no_perf
without sys_ptrace CAP_SYS_PTRACE
without sys_nice CAP_SYS_NICE
# perf_event_paranoid is 3 on Debian: without CAP_SYS_ADMIN perf refuses.
echo 3 >/proc/sys/kernel/perf_event_paranoid
without sys_admin perf_event_open
exit $failed
