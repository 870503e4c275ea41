# topology: n2
# A misplaced workload comes to 5 % remote or less: 4 KiB and huge pages, reads, writes and both.
. /test/lib.sh

try() {
    name=$1
    shift
    bench work numa02 --pin --placement node:0 --size 64 --seconds 120 --verify "$@"
    misplaced work 30
    numabd_start
    check "$name converges within $ROUNDS rounds" "$(remote work) % remote" converge work
    echo "# $name took $rounds_taken rounds, moved $(($(stat moved_bytes) >> 20)) MiB"
    check "$name moves about what is misplaced" "moved $(stat moved_bytes) bytes" \
        within $((24 << 20)) "$(stat moved_bytes)" $((40 << 20))
    numabd_stop
    check "$name: numabd ends well" "exit status $numabd_status" [ "$numabd_status" -eq 0 ]
    stop $pid
    check "$name loses no data" "errors=$(result work errors)" [ "$(result work errors)" = 0 ]
}

try "read-only 4 KiB" --pages 4k --access read
try "mixed 4 KiB" --pages 4k --access mixed
try "mixed huge" --pages huge --access mixed
exit $failed
