# topology: n4
# Four nodes in a ring.
. /test/lib.sh

bench work numa02 --pin --placement node:0 --size 96 --seconds 120 --pages 4k
misplaced work 60
numabd_start
numabctl ps --watch 0.5 >$LOG/watch &
watch=$!
check "n4 converges within $ROUNDS rounds" "$(remote work) % remote" converge work
echo "# took $rounds_taken rounds, moved $(($(stat moved_bytes) >> 20)) MiB"
kill $watch
check "ps --watch shows MiB per node over time" "$(cat $LOG/watch)" \
    within 3 "$(grep -c numabench $LOG/watch)" 1000
numabd_stop
stop $pid
exit $failed
