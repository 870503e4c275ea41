# topology: n2
# append: isolcpus=3
# An isolated CPU is not interrupted: no event is opened there, what runs there is left alone, and
# numabd says that it does not see it.
. /test/lib.sh

# Killed when it opens an event at CPU 3.
start() {
    forbid_perf_at 3 numabd >$LOG/numabd 2>&1 &
    numabd=$!
    until numabctl status >/dev/null 2>&1; do
        kill -0 $numabd 2>/dev/null || return 1
        sleep 0.2
    done
}

# try SCOPE: the three programs are in one control group.
try() {
    bench_in bench.service work numa02 --pin --placement node:0 --size 48 --seconds 120 --pages 4k
    work=$pid
    misplaced work 30
    conf '' "sources = timer\nscope = $1"
    before="$(pages_on $one 1) $(pages_on $two 1)"
    start
    check "isolated CPU, $1: the program beside it converges" "$(remote work) % remote" converge work
    wait_rounds 3
    sampling=$(sampling)
    echo "# $sampling"
    check "isolated CPU, $1: no event is opened there" "numabd is gone" kill -0 $numabd
    check "isolated CPU, $1: status says what is not seen" "$sampling" \
        sh -c "echo '$sampling' | grep -q 'nothing at 1 isolated CPU'"
    after="$(pages_on $one 1) $(pages_on $two 1)"
    check "isolated CPU, $1: what runs there stays where it is" \
        "pages on node 1: $before -> $after" [ "$before" = "$after" ]
}

check "CPU 3 is isolated" "$(cat /sys/devices/system/cpu/isolated)" \
    [ "$(cat /sys/devices/system/cpu/isolated)" = 3 ]
enter_service
bench_at 0x8 one numa02 --threads 1 --placement node:0 --size 48 --seconds 300 --pages 4k
one=$pid
bench_at 0x8 two numa02 --threads 1 --placement node:0 --size 48 --seconds 300 --pages 4k
two=$pid
leave_service
misplaced one 95
misplaced two 95
try cgroup
check "isolated CPU: doctor names it" "$(numabctl doctor)" \
    sh -c 'numabctl doctor | grep -q "not sampled, isolated: 3"'
numabd_stop
stop $work
try thread
threads=$(ls /proc/$work/task | wc -l)
check "isolated CPU: threads that run there only have no event" "$sampling, the other has $threads" \
    sh -c "echo '$sampling' | grep -q 'timer: $threads threads, $threads events,'"
numabd_stop
stop $work $one $two
exit $failed
