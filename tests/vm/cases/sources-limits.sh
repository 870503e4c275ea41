# topology: n2
# only: it takes two minutes
# Open files and permissions end under the live timer: it goes on with less or drops out, says so once,
# and is whole again when they are given back.
. /test/lib.sh

# wait_log TEXT: until numabd has logged it, at most 20 rounds. Out of files it may not answer.
wait_log() {
    for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        ! grep -q "$1" $LOG/numabd || return 0
        wait_rounds 1 || sleep 1
    done
    return 1
}

files() {
    prlimit --pid $numabd --nofile="$1":4096
}

# numabd_start_with [COMMAND...]: as numabd_start, behind a command.
numabd_start_with() {
    "$@" numabd >$LOG/numabd 2>&1 &
    numabd=$!
    until numabctl status >/dev/null 2>&1; do
        kill -0 $numabd 2>/dev/null || return 1
        sleep 0.2
    done
}

# start NAME [COMMAND...]: a workload in a service that is sampled, and numabd over it.
start() {
    name=$1
    shift
    bench_in a.service first numa02 --pin --placement node:0 --size 48 --seconds 240 --pages 4k
    first=$pid
    misplaced first 30
    conf '' 'sources = timer\nscope = cgroup'
    numabd_start_with "$@"
    check "$name: it is sampled before" "$(sampling)" converge first
}

# A second workload, in a service of its own.
second() {
    bench_in b.service second numa02 --pin --placement node:0 --size 48 --seconds 240 --pages 4k
    second=$pid
    misplaced second 30
    found 2
}

end() {
    numabd_stop
    check "$name: numabd ends well" "exit status $numabd_status" [ $numabd_status -eq 0 ]
    stop $first $second
}

# Too few for the events of one more group beside the 16 files that are left to all else: all CPUs of
# the whole machine take no more than one group.
few_files() {
    start 'few files'
    files $(($(ls /proc/$numabd/fd | wc -l) + 18))
    second
    check "few files: the new process converges all the same" "$(remote second) %" converge_late second
    numabctl status >$LOG/status
    grep '^sampling' $LOG/status | sed 's/^/# /'
    check "few files: status says that it samples more widely" "$(cat $LOG/status)" \
        grep -q 'whole system, .*open files or ring memory ran out' $LOG/status
    check "few files: said once, with the fix" "$(cat $LOG/numabd)" \
        log_has 'timer goes on with less: .*raise LimitNOFILE=' 1
    files 4096
    check "few files: it comes back" "$(sampling)" wait_log 'timer lacks nothing any more'
    wait_rounds 1
    check "few files: both groups are sampled" "$(sampling)" \
        sh -c 'numabctl status | grep -q "timer: 2 cgroups, 8 events at 4 CPUs,"'
    check "few files: two lines more in all" "$(cat $LOG/numabd)" [ "$(wc -l <$LOG/numabd)" -eq 3 ]
    not_one_file
    end
}

# Nothing at all can be opened, not even a connection.
not_one_file() {
    files 3
    sleep 4
    files 4096
    before=$(stat n_samples)
    check "not one file: numabd answers again" "$(cat $LOG/numabd)" [ -n "$before" ]
    wait_rounds 3
    check "not one file: it is sampled again" "$before -> $(stat n_samples)" \
        within $((before + 10)) "$(stat n_samples)" 1000000
    check "not one file: at most one line" "$(cat $LOG/numabd)" within 3 "$(wc -l <$LOG/numabd)" 4
}

# From the start on, and more later.
no_files() {
    name='no files'
    bench_in a.service first numa02 --pin --placement node:0 --size 48 --seconds 240 --pages 4k
    first=$pid second=
    misplaced first 30
    conf '' 'sources = timer\nscope = cgroup'
    numabd_start_with prlimit --nofile=28:28
    check "no files: idle" "$(numabctl status)" sh -c 'numabctl status | head -n 1 | grep -q " idle "'
    check "no files: status says why" "$(numabctl status)" \
        sh -c 'numabctl status | grep -q "^why .*RLIMIT_NOFILE is 28: raise LimitNOFILE="'
    sleep 8
    check "no files: said once, with the fix" "$(cat $LOG/numabd)" \
        log_has 'Too many open files.*raise LimitNOFILE=' 1
    files 4096
    check "no files: it comes back" "$(cat $LOG/numabd)" wait_log 'timer samples again'
    check "no files: the process converges then" "$(remote first) %" converge_late first
    check "no files: two lines more in all" "$(cat $LOG/numabd)" [ "$(wc -l <$LOG/numabd)" -eq 3 ]
    end
}

# With CAP_PERFMON only, as perf_event_paranoid becomes 3: what is open goes on, nothing else opens.
permission() {
    echo 2 >/proc/sys/kernel/perf_event_paranoid
    start 'permission' /usr/bin/setpriv --bounding-set -sys_admin --inh-caps -sys_admin
    echo 3 >/proc/sys/kernel/perf_event_paranoid
    second
    check "permission: said when the new process is refused" "$(cat $LOG/numabd)" \
        wait_log 'timer goes on with less: .*perf_event_paranoid is 3'
    check "permission: status says so" "$(sampling)" \
        sh -c 'numabctl status | grep -q "1 cgroup, 4 events at 4 CPUs (some events are not permitted)"'
    stop $first
    check "permission: the timer drops out with the last that it may sample" "$(cat $LOG/numabd)" \
        wait_log 'timer dropped out: .*perf_event_paranoid is 3'
    check "permission: status says why" "$(numabctl status)" \
        sh -c 'numabctl status | grep -q "^why .*perf_event_paranoid is 3"'
    echo 2 >/proc/sys/kernel/perf_event_paranoid
    check "permission: it comes back" "$(cat $LOG/numabd)" wait_log 'timer samples again'
    check "permission: the new process converges then" "$(remote second) %" converge_late second
    check "permission: each said once" "$(cat $LOG/numabd)" [ "$(wc -l <$LOG/numabd)" -eq 4 ]
    end
}

few_files
no_files
permission
exit $failed
