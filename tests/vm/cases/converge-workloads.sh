# topology: n2
# The other memory patterns: slices and all memory of two processes, every second CPU, and memory
# of which every page lies on the wrong node.
. /test/lib.sh

try() {
    name=$1 least=$2 mib=$3
    shift 3
    bench work "$@" --pin --seconds 120 --pages 4k --verify
    misplaced work "$least"
    numabd_start
    check "$name converges within $ROUNDS rounds" "$(remote work) % remote" converge work
    echo "# $name took $rounds_taken rounds, moved $(($(stat moved_bytes) >> 20)) MiB"
    check "$name moves about what is misplaced" "moved $(stat moved_bytes) bytes" \
        within $((mib * 3 / 4 << 20)) "$(stat moved_bytes)" $((mib * 5 / 4 << 20))
    numabd_stop
    stop $pid
    check "$name loses no data" "errors=$(result work errors)" [ "$(result work errors)" = 0 ]
}

# Two processes: each must hold min_rss.
try "numa01 inverse-bind" 95 96 numa01 --placement inverse-bind --size 96
try "numa01_threadlocal" 30 48 numa01_threadlocal --placement node:0 --size 96
try "numa02 inverse-bind" 95 64 numa02 --placement inverse-bind --size 64
try "numa02_smt" 30 32 numa02_smt --placement node:0 --size 64
exit $failed
