# topology: n2
# 1 GiB mapped, 1 % touched, in small and in huge pages: judged by the pages that are there, and with how many
# addresses asked for, with PAGEMAP_SCAN and without.
. /test/lib.sh

# try NAME COMMAND...: starts numabd by the command beside a new sparse process; $asked, $found and
# $scans are then what it took until the memory was home, or for ROUNDS rounds.
try() {
    name=$1
    shift
    : >$LOG/sparse
    sparse 300 >$LOG/sparse 2>&1 &
    pid=$!
    until grep -q '1 s  passes' $LOG/sparse; do
        kill -0 $pid 2>/dev/null || break
        sleep 0.2
    done
    touched=$(sed -n 's/^touched \([0-9]*\) .*/\1/p' $LOG/sparse)
    misplaced sparse 90
    conf 'min_rss = 4 MiB'
    "$@" >$LOG/numabd 2>&1 &
    numabd=$!
    until numabctl status >/dev/null 2>&1; do
        kill -0 $numabd 2>/dev/null || break
        sleep 0.2
    done
    home=0
    converge sparse && home=1
    look
    asked=$(field residency_asked) found=$(field residency_found) scans=$(field residency_scans)
    moved=$(field pages_moved)
    rounds=${rounds_taken:-0}
    [ "$rounds" -gt 0 ] || rounds=1
    echo "# $name: $(remote sparse) % remote after $rounds rounds; $asked addresses asked for," \
        "$found of them there, $scans scans; moved $moved of $touched pages"
}

end() {
    numabd_stop
    stop $pid
}

numabctl doctor --local >$LOG/doctor
if ! grep -qE '^ *ok +PAGEMAP_SCAN' $LOG/doctor; then
    skip "sparse memory with PAGEMAP_SCAN" "this kernel has none"
    exit 0
fi
ROUNDS=20
try 'with PAGEMAP_SCAN' numabd
check "sparse memory comes home within $ROUNDS rounds" "$(remote sparse) % remote" [ $home = 1 ]
# Decided memory without ranges (slabs) is still asked for blindly.
check "sparse memory: half of the addresses asked for are there" "$found of $asked" \
    [ $((found * 2)) -ge "$asked" ]
check "sparse memory: the kernel's scan was used" "$scans scans" [ "$scans" -gt 0 ]
# Its stack and code may move too.
check "sparse memory: what is counted as moved is what is there" "$moved of $touched" \
    within $((touched * 9 / 10)) "$moved" $((touched * 12 / 10))
with=$((asked / rounds))
end

without_page_scan numabctl doctor --local >$LOG/doctor
check "doctor: names the missing PAGEMAP_SCAN" "$(grep PAGEMAP $LOG/doctor)" \
    grep -qE '^ *missing +PAGEMAP_SCAN.*Linux 6.7' $LOG/doctor
try 'without PAGEMAP_SCAN' without_page_scan numabd
check "without PAGEMAP_SCAN the same memory is asked for blindly" "$scans scans" \
    [ "$scans" -le 1 ]
check "without PAGEMAP_SCAN more addresses are asked for in each round" \
    "$((asked / rounds)), not more than $with" [ $((asked / rounds)) -gt $with ]
end
exit $failed
