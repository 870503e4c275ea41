# topology: n8
# Eight nodes in two packages. Emulated on few CPUs, so that each thread gets few samples a round.
. /test/lib.sh

bench work numa02 --pin --placement node:0 --size 96 --seconds 240 --pages 4k
misplaced work 70
numabd_start
check "n8 converges within $ROUNDS rounds" "$(remote work) % remote" converge work
echo "# took $rounds_taken rounds, moved $(stat moved_bytes) bytes"
check "n8 moves about what is misplaced" "moved $(stat moved_bytes) bytes" \
    within $((72 << 20)) "$(stat moved_bytes)" $((108 << 20))
numabd_stop
stop $pid
exit $failed
