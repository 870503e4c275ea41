# topology: n2
# The timer alone, in each scope, with reads and writes, small and huge pages: what is misplaced comes
# to 5 % remote or less; what the timer costs the target.
. /test/lib.sh

# watch SCOPE EXPECT: numabd over what runs; EXPECT is part of what status says about the events.
watch() {
    conf '' "sources = timer\nscope = $1"
    numabd_start
    for name in $names; do
        check "timer, $1, $name converges within $ROUNDS rounds" "$(remote "$name") % remote" \
            converge "$name"
        echo "# $1, $name: $rounds_taken rounds, $(sampling)"
    done
    check "timer, $1: samples where it should" "$(sampling)" \
        sh -c "numabctl status | grep -q 'timer: .*$2'"
    check "timer, $1: no other source" "$(stat sources)" [ "$(stat sources)" = timer ]
    numabd_stop
    stop $pids
}

# two MASK ACCESS: two workloads of two threads, one on each node, with small and huge pages.
two() {
    for pages in 4k huge; do
        bench_at "$1" "$2-$pages" numa02 --threads 2 --pin --placement node:0 --size 48 --seconds 120 \
            --access "$2" --pages $pages
        misplaced "$2-$pages" 30
        names="$names $2-$pages" pids="$pids $pid"
    done
}

# combinations SCOPE EXPECT: reads and writes, small and huge pages, all at once.
combinations() {
    names='' pids=''
    enter_service
    two 0x5 read
    two 0xa write
    leave_service
    watch "$@"
}

chosen() {
    bench_in bench.service read-huge numa02 --pin --placement node:0 --size 64 --seconds 120 \
        --access read --pages huge
    misplaced read-huge 30
    names=read-huge pids=$pid
    watch auto '1 cgroup'
}

ulimit -n 4096
combinations cgroup '1 cgroup'
combinations thread '12 threads'
combinations system 'whole system'
chosen
planned_soon timer timer --pages 4k
exit $failed
