# topology: n8
# Eight nodes in two packages. Emulated on few CPUs, so that each thread gets few samples a round.
. /test/lib.sh

# Neighbours are at distance 12: a page on one of them is remote and hardly dearer, and moving it may
# not pay. So it is the distance that must come down: what it exceeds 1.00 by, in percent.
remote() {
    sed -n 's/.*distance *\([0-9.][0-9.]*\) .*/\1/p' $LOG/"$1" | tail -n 1 |
        awk '{print int(($1 - 1) * 100 + 0.5)}'
}

bench work numa02 --pin --placement node:0 --size 96 --seconds 240 --pages 4k
misplaced work 70
numabd_start
check "n8 converges within $ROUNDS rounds" "distance is $(remote work) % above local" converge work
echo "# took $rounds_taken rounds, moved $(($(stat moved_bytes) >> 20)) MiB"
check "n8 moves about what is misplaced" "moved $(stat moved_bytes) bytes" \
    within $((56 << 20)) "$(stat moved_bytes)" $((108 << 20))
numabd_stop
stop $pid
exit $failed
