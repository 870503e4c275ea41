# topology: n2
# kernel: idle
# idle_page beside the timer: a misplaced workload comes to 5 % remote or less, is planned within 4
# rounds, and has no page faults of it.
. /test/lib.sh

try() {
    name=$1
    shift
    bench work numa02 --pin --placement node:0 --size 64 --seconds 120 --access read "$@"
    misplaced work 30
    conf '' 'sources = timer, idle_page'
    numabd_start
    check "idle_page with timer, $name converges within $ROUNDS rounds" "$(remote work) % remote" \
        converge work
    echo "# $rounds_taken rounds, $(sampling)"
    check "idle_page, $name: both sources work" "$(numabctl status)" \
        sh -c 'numabctl status | grep -q "sources timer, idle_page "'
    numabd_stop
    stop $pid
}

numabctl doctor >$LOG/doctor
check "doctor: idle_page works on this kernel" "$(cat $LOG/doctor)" \
    grep -qE '^ *ok +idle_page' $LOG/doctor
try '4 KiB' --pages 4k
try 'huge' --pages huge
planned_soon 'idle_page with timer, 4 KiB' 'timer, idle_page' --pages 4k
planned_soon 'idle_page with timer, huge' 'timer, idle_page' --pages huge
exit $failed
