#!/bin/sh
# The demo itself: a workload whose threads run on all nodes and whose memory lies on one of them,
# first alone, then with numabd. Runs in the virtual machine or on a NUMA host, as root.
#   demo.sh MIB
# Last line: "remote access  before 50.0 %  after 0.4 %  in 3.0 s  moved 64 MiB". Exit 0 if the
# remote share ends at 5 % or less.

size=${1:-128}
work=$(mktemp -d)
trap 'stop_all; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
RUNTIME_DIRECTORY=$work
export RUNTIME_DIRECTORY
bench='' numabd='' shower=''

stop_all() {
    for process in $shower $numabd $bench; do
        kill "$process" 2>/dev/null
        wait "$process" 2>/dev/null
    done
}

fail() {
    echo "demo: $1" >&2
    exit 1
}

# The newest remote share, in percent.
remote() {
    sed -n 's/.*remote *\([0-9.]*\) %.*/\1/p' "$work/bench" | tail -n 1
}

# The mean of all so far: one second of a busy machine scatters.
remote_mean() {
    sed -n 's/.*remote *\([0-9.]*\) %.*/\1/p' "$work/bench" |
        awk '{ sum += $1 } END { printf "%.1f", sum / NR }'
}

seconds() {
    cut -d' ' -f1 /proc/uptime
}

at_most() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }'
}

lines() {
    wc -l <"$work/bench"
}

# Waits for COUNT more lines of the workload.
wait_lines() {
    until_line=$(($(lines) + $1))
    while [ "$(lines)" -lt $until_line ]; do
        kill -0 "$bench" 2>/dev/null || fail "the workload ended: $(tail -n 1 "$work/bench")"
        sleep 0.1
    done
}

first_memory_node() {
    sed 's/[-,].*//' /sys/devices/system/node/has_memory
}

# The workload prints once a second; with numabd its lines go on in the same list.
start_bench() {
    numabench numa02 --pin --placement "node:$(first_memory_node)" --size "$size" --seconds 120 \
        --pages 4k >"$work/bench" &
    bench=$!
    until [ -s "$work/bench" ]; do
        kill -0 "$bench" 2>/dev/null || fail "the workload did not start"
        sleep 0.1
    done
    tail -f -n +1 "$work/bench" &
    shower=$!
}

start_numabd() {
    printf '[include]\npid = %s\n' "$bench" >"$work/numabd.conf"
    numabd --config "$work/numabd.conf" 2>"$work/log" &
    numabd=$!
    until numabctl --bus "$work/bus" status >"$work/status" 2>/dev/null; do
        kill -0 "$numabd" 2>/dev/null || fail "numabd did not start: $(cat "$work/log")"
        sleep 0.1
    done
    ! grep -q ' idle ' "$work/status" || fail "numabd has nothing to do here: $(cat "$work/log")"
}

[ "$(cat /proc/sys/kernel/numa_balancing 2>/dev/null || echo 0)" = 0 ] ||
    echo "note: kernel balancing is on here and will do some of the work, before and after"
if grep -q '^flags.* hypervisor' /proc/cpuinfo; then
    echo "note: in a virtual machine remote memory may not be slower, and copying may be; look at the"
    echo "      share of remote accesses, not at passes and costs. One second's share scatters."
fi
echo "--- without numabd: all memory on node $(first_memory_node), threads on every node"
start_bench
wait_lines 5
before=$(remote_mean)
echo "--- with numabd"
start=$(seconds)
start_numabd
for i in $(seq 60); do
    wait_lines 1
    at_most "$(remote)" 5 && break
done
end=$(seconds)
wait_lines 3
after=$(remote)
kill $shower 2>/dev/null
numabctl --bus "$work/bus" status >"$work/status"
echo "--- numabctl status"
cat "$work/status"
echo "--- numabctl ps"
numabctl --bus "$work/bus" ps
moved=$(sed -n 's/.*moved *\([0-9.]* [KMGT]*i*B\) (.*/\1/p' "$work/status")
taken=$(awk -v a="$start" -v b="$end" 'BEGIN { printf "%.1f", b - a }')
echo "remote access  before $before %  after $after %  in $taken s  moved $moved"
at_most "$after" 5
