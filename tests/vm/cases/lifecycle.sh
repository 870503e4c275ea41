# topology: n2
# Targets end, execute and fork in the middle; numabd is stopped and killed at any time.
. /test/lib.sh

target_goes() {
    numabd_start
    bench work numa02 --pin --placement node:0 --size 64 --seconds 120 --pages 4k
    wait_field pages_moved 1 40
    kill -KILL $pid
    wait $pid 2>/dev/null
    wait_rounds 3
    check "killed target: numabd goes on" "$(cat $LOG/numabd)" kill -0 $numabd
    check "killed target: forgotten" "$(stat n_balanced) balanced" [ "$(stat n_balanced)" -eq 0 ]

    bench work numa02 --pin --placement node:0 --size 64 --seconds 4 --pages 4k
    wait $pid
    check "target that ends: its own status is good" "exit status $?" [ $? -eq 0 ]
    wait_rounds 2
    check "target that ends: forgotten" "$(stat n_balanced) balanced" [ "$(stat n_balanced)" -eq 0 ]

    exec_in_the_middle numa02 --pin --placement node:0 --size 64 --seconds 120 --pages 4k \
        >$LOG/work 2>&1 &
    pid=$!
    until grep -q '1 s  passes' $LOG/work; do sleep 0.2; done
    sampled=$(stat n_rounds)
    ROUNDS=$((sampled + 14 - $(stat sampled_round)))
    check "target that executed another program converges" "$(remote work) %" converge work
    ROUNDS=12
    numabd_stop
    check "targets that go: numabd ends well" "exit status $numabd_status" [ $numabd_status -eq 0 ]
    stop $pid
}

crowd() {
    conf 'min_rss = 0 B'
    bench work numa02 --pin --placement node:0 --size 64 --seconds 180 --pages 4k
    short_lived 50 20 >$LOG/crowd 2>&1 &
    crowd=$!
    numabd_start
    ROUNDS=20
    check "50 short processes a second: the workload converges" "$(remote work) %" converge work
    ROUNDS=12
    wait $crowd
    echo "# $(cat $LOG/crowd)"
    wait_rounds 3
    check "50 short processes a second: numabd answers" "$(cat $LOG/numabd)" sh -c "numabctl ps >/dev/null"
    check "50 short processes a second: none is kept" "$(stat n_balanced) balanced" \
        within 0 "$(stat n_balanced)" 8
    files=$(ls /proc/$numabd/fd | wc -l)
    check "50 short processes a second: no file is leaked" "$files open" within 4 "$files" 40
    numabd_stop
    stop $pid
}

# Sends SIGNAL to numabd SECONDS after its start; tells in $why what went wrong.
stop_after() {
    why=
    numabd_start || why="numabd did not start"
    sleep "$2"
    kill -"$1" $numabd || why="numabd was gone after $2 s"
    wait $numabd
    status=$?
    [ "$1" = KILL ] || [ $status -eq 0 ] || why="exit status $status after $2 s"
    kill -0 $pid || why="the workload died after $2 s"
    [ -z "$why" ]
}

# Eight moments each, spread over a convergence.
stopped() {
    bench work numa02 --pin --placement node:0 --size 64 --seconds 240 --pages 4k --verify
    for signal in TERM KILL; do
        good=0
        for seconds in 0.3 0.9 1.4 1.9 2.4 2.9 3.4 3.9; do
            stop_after $signal $seconds || break
            good=$((good + 1))
        done
        check "SIG$signal of numabd at eight moments leaves the workload running" "$why" \
            [ $good -eq 8 ]
    done
    stop $pid
    check "SIGTERM and SIGKILL: the workload lost no data" "errors=$(result work errors)" \
        [ "$(result work errors)" = 0 ]
}

target_goes
crowd
stopped
exit $failed
