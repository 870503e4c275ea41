# topology: n2-cxl
# A third node has memory and no CPUs: pages come home from it, none go there.
. /test/lib.sh

try() {
    bench work numa02 --pin --placement "node:$1" --size 96 --seconds 120 --pages 4k
    misplaced work "$2"
    numabd_start
    check "from node $1 converges within $ROUNDS rounds" "$(remote work) % remote" converge work
    echo "# took $rounds_taken rounds, moved $(($(stat moved_bytes) >> 20)) MiB"
    numabd_stop
    stop $pid
}

try 0 30
try 2 95
exit $failed
