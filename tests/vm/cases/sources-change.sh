# topology: n2
# What changes under the live timer: a CPU goes offline and comes back, a control group goes and
# another comes.
. /test/lib.sh

CPU3=/sys/devices/system/cpu/cpu3/online

log_lines() {
    wc -l <$LOG/numabd
}

# Its only thread runs on CPU 3, so that it is only seen, and moved, if that CPU is sampled. The control
# group is the one that is sampled already: nothing else makes numabd open events.
work_on_cpu_3() {
    enter_service
    bench_at 0x8 late numa02 --threads 1 --placement node:0 --size 48 --seconds 120 --pages 4k
    leave_service
    misplaced late 95
    check "CPU offline: what runs on it after $1 is sampled" "$(remote late) % remote, $(sampling)" \
        converge_late late
    echo "# $rounds_taken rounds"
    stop $pid
}

samples_at() {
    numabctl status | grep -q "timer: .* at $1 CPUs"
}

cpu_goes() {
    bench_in bench.service work numa02 --pin --placement node:0 --size 48 --seconds 240 --pages 4k
    work=$pid
    misplaced work 30
    conf '' 'sources = timer'
    numabd_start
    check "CPU offline: it is sampled before" "$(sampling)" converge work
    lines=$(log_lines)
    echo 0 >$CPU3
    wait_rounds 3
    check "CPU offline: the others are sampled" "$(sampling)" samples_at 3
    check "CPU offline: at most one line in the log" "$(cat $LOG/numabd)" \
        within 0 $(($(log_lines) - lines)) 1
    lines=$(log_lines)
    echo 1 >$CPU3
    wait_rounds 3
    check "CPU online again: it is sampled" "$(sampling)" samples_at 4
    check "CPU online again: at most one line in the log" "$(cat $LOG/numabd)" \
        within 0 $(($(log_lines) - lines)) 1
    work_on_cpu_3 'its return'
    # Too fast for numabd to see it in the list of CPUs.
    kill -STOP $numabd
    echo 0 >$CPU3
    echo 1 >$CPU3
    kill -CONT $numabd
    wait_rounds 14
    work_on_cpu_3 'a moment offline'
    check "CPU offline: numabd lives" "$(cat $LOG/numabd)" kill -0 $numabd
    numabd_stop
    check "CPU offline: numabd ends well" "exit status $numabd_status" [ $numabd_status -eq 0 ]
    stop $work
}

group_goes() {
    bench_in a.service first numa02 --pin --placement node:0 --size 48 --seconds 120 --pages 4k
    misplaced first 30
    conf '' 'sources = timer\nscope = cgroup'
    numabd_start
    check "control group: the first is sampled" "$(sampling)" converge first
    lines=$(log_lines)
    stop $pid
    rmdir /sys/fs/cgroup/a.service
    # A service that is restarted has the same name and is another group.
    bench_in a.service second numa02 --pin --placement node:0 --size 48 --seconds 120 --pages 4k
    misplaced second 30
    found
    check "control group that was removed and made again: sampled" "$(sampling)" \
        converge_late second
    echo "# $rounds_taken rounds, $(sampling)"
    # Its process moves out and lives on.
    mkdir /sys/fs/cgroup/b.service
    echo $pid >/sys/fs/cgroup/b.service/cgroup.procs
    rmdir /sys/fs/cgroup/a.service
    wait_rounds 4
    before=$(stat n_samples)
    wait_rounds 4
    after=$(stat n_samples)
    echo "# $before -> $after samples in 4 rounds, $(sampling)"
    check "control group removed behind its process: it is still sampled" \
        "$before -> $after samples, $(sampling)" within $((before + 20)) "$after" 1000000
    check "control groups that go: nothing in the log" "$(cat $LOG/numabd)" [ "$(log_lines)" -eq "$lines" ]
    numabd_stop
    check "control groups that go: numabd ends well" "exit status $numabd_status" [ $numabd_status -eq 0 ]
    stop $pid
}

cpu_goes
group_goes
exit $failed
