# topology: n2
# A misplaced workload comes to 5 % remote or less: 4 KiB and huge pages, reads, writes and both.
. /test/lib.sh

try() {
    name=$1
    shift
    bench work numa02 --pin --placement node:0 --size 128 --seconds 120 --verify "$@"
    before=$(remote work)
    numabd_start
    check "$name starts misplaced" "only $before % remote" [ "$before" -ge 45 ]
    check "$name converges within $ROUNDS rounds" \
        "$(remote work) % remote after $rounds_taken rounds" converge work
    echo "# $name took $rounds_taken rounds, moved $(stat moved_bytes) bytes"
    check "$name moves about what is misplaced" "moved $(stat moved_bytes) bytes" \
        [ "$(stat moved_bytes)" -le $((80 << 20)) ]
    numabd_stop
    check "$name: numabd ends well" "exit status $numabd_status" [ "$numabd_status" -eq 0 ]
    stop $pid
    check "$name loses no data" "errors=$(result work errors)" [ "$(result work errors)" = 0 ]
}

try "read-only 4 KiB" --pages 4k --access read
try "mixed 4 KiB" --pages 4k --access mixed
try "mixed huge" --pages huge --access mixed
exit $failed
