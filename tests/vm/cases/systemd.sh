# topology: n2
# base: systemd
# The shipped unit under systemd: its sandbox stops nothing, its watchdog is fed, it is reloaded,
# killed and stopped.
cp /etc/numabd.conf /tmp/numabd.conf.shipped
. /test/lib.sh

as_nobody() {
    /usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups "$@" >$LOG/nobody
}

# The workload is another user's: what only root's own processes allow shows nothing.
numabench() {
    exec /usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/numabench "$@"
}

property() {
    systemctl show --property "$1" --value numabd
}

# wait_for SECONDS COMMAND...: tries it twice a second. A check behind it says how things are then.
wait_for() {
    wait_tries=$(($1 * 2))
    shift
    until "$@"; do
        wait_tries=$((wait_tries - 1))
        [ $wait_tries -gt 0 ] || return 1
        sleep 0.5
    done
}

is() {
    [ "$(property "$1")" = "$2" ]
}

# The unit's log, for those who read a failure.
keep_journal() {
    journalctl --no-pager -o short-monotonic -u numabd >$LOG/journal 2>&1
}

# drop_in NAME LINE...: settings on top of the shipped unit, until drop_out NAME.
drop_in() {
    drop_in_file=/run/systemd/system/numabd.service.d/$1.conf
    shift
    mkdir -p "${drop_in_file%/*}"
    printf '%s\n' "$@" >"$drop_in_file"
    systemctl daemon-reload
}

drop_out() {
    rm /run/systemd/system/numabd.service.d/"$1".conf
    systemctl daemon-reload
}

# restarted PID: another process than this one answers.
restarted() {
    [ "$(property MainPID)" -ne "$1" ] && is ActiveState active && numabctl status >/dev/null 2>&1
}

# refused PATH: were system calls of this program refused by a filter? Not counting clone3 (435): its
# flags lie in memory, where a filter cannot look, so RestrictNamespaces= refuses it and libc takes
# clone.
refused() {
    dmesg | grep "type=1326 .*exe=\"$1\"" | grep -v ' syscall=435 '
}

starts() {
    cp /tmp/numabd.conf.shipped /etc/numabd.conf
    systemctl enable --now numabd 2>&1 | tee $LOG/systemctl
    keep_journal
    check "the unit starts with the shipped configuration" "$(cat $LOG/journal)" is ActiveState active
    check "it tells systemd what it does" "$(property StatusText)" is StatusText balancing
    check "the first start was the last" "$(property NRestarts) restarts" is NRestarts 0
    check "any user may ask it" "$(ls -la /run/numabd)" as_nobody numabctl status --json
    check "its interface can be looked at" "busctl says otherwise" sh -c \
        'busctl --address=unix:path=/run/numabd/bus introspect org.numabd /org/numabd |
            grep -q "^.Status  *method"'
}

# What this machine does not have is no fault of the sandbox.
sees_all() {
    numabctl doctor >$LOG/doctor 2>&1
    check "doctor: balancing is possible from inside" "$(tail -n 1 $LOG/doctor)" \
        grep -q '^Balancing is possible' $LOG/doctor
    check "doctor: it is numabd that sees it" "$(head -n 1 $LOG/doctor)" \
        grep -q '^Seen by numabd ' $LOG/doctor
    grep -E '^ *(missing|limited)' $LOG/doctor |
        grep -vE ' (mem_events|idle_page|kvm|CONFIG_IDLE_PAGE_TRACKING) ' >$LOG/missing
    check "doctor: the sandbox stops no source and no call" "$(cat $LOG/missing)" [ ! -s $LOG/missing ]
    check "doctor: the filter is on" "$(grep seccomp $LOG/doctor)" \
        grep -q 'seccomp  *a filter is on' $LOG/doctor
}

# ROUNDS count from numabd's first sample: this is what converge allows a new workload of an old one.
more_rounds() {
    ROUNDS=$(($(stat n_rounds) + $1 - $(stat sampled_round)))
}

moves() {
    conf
    systemctl reload numabd
    bench work numa02 --pin --placement node:0 --size 64 --seconds 300 --pages 4k
    misplaced work 30
    more_rounds 14
    check "memory of another user's process comes home" "$(remote work) % remote" converge work
    check "numabd moved it" "$(stat pages_moved) pages" [ "$(stat pages_moved)" -gt 0 ]
    stop $pid
}

clears() {
    conf 'min_rss = 8 MiB' 'sources = write_fault' '[write_fault]\ncomm = numabench'
    systemctl restart numabd
    bench work numa02 --pin --placement node:0 --size 32 --seconds 300 --pages 4k --access write
    misplaced work 30
    more_rounds 20
    check "write_fault alone brings it home, too" "$(remote work) % remote" converge work
    check "no other source was used" "$(stat sources)" [ "$(stat sources)" = write_fault ]
    check "its soft-dirty bits were cleared" "$(stat sampling)" sh -c \
        'numabctl status | grep -q "write_fault: 1 of 1 allowed processes open, [1-9][0-9]* clears"'
    stop $pid
}

reloads() {
    conf 'observe = yes'
    check "reload takes a good file" "it was refused" systemctl reload numabd
    check "reload: the file is in force" "$(stat state)" [ "$(stat state)" = observing ]
    check "reload: systemd knows, too" "$(property StatusText)" \
        sh -c 'systemctl show --property StatusText numabd | grep -q =observing:'
    conf 'observe = perhaps'
    check "reload refuses a bad file" "it was taken" sh -c '! systemctl reload numabd 2>/dev/null'
    check "reload of a bad file: numabd goes on as it did" "$(stat state)" [ "$(stat state)" = observing ]
    check "reload of a bad file: the journal names the line" "$(journalctl -u numabd -n 5)" \
        sh -c 'journalctl -u numabd | grep -q "numabd\[.*numabd.conf:[0-9]*: observe = perhaps"'
    conf
    systemctl reload numabd
}

# The time of the last word to the watchdog, in seconds after the start.
fed() {
    fed_after=$((($(property WatchdogTimestampMonotonic) - \
        $(property ExecMainStartTimestampMonotonic)) / 1000000))
    [ $fed_after -gt 10 ]
}

watched() {
    wait_for 60 fed
    check "the watchdog is fed" "last $fed_after s after the start" fed
    old=$(property MainPID)
    kill -STOP "$old"
    wait_for 100 restarted "$old"
    check "numabd that hangs is ended and started again" "$(systemctl status numabd)" \
        restarted "$old"
    check "by the watchdog" "$(journalctl -u numabd -n 10)" \
        sh -c 'journalctl -u numabd | grep -q "Watchdog timeout"'
}

# The first start after a changed limit is the first that counts.
killed() {
    drop_in limit '[Unit]' 'StartLimitIntervalSec=1h' 'StartLimitBurst=1'
    touch /run/numabd/kept
    old=$(property MainPID)
    kill -KILL "$old"
    wait_for 30 restarted "$old"
    check "killed: started again" "$(systemctl status numabd)" restarted "$old"
    check "killed: what lay in /run/numabd is there" "$(ls /run/numabd)" [ -e /run/numabd/kept ]
    kill -KILL "$(property MainPID)"
    wait_for 30 is ActiveState failed
    check "killed too often: systemd gives up" "$(systemctl status numabd)" is ActiveState failed
    check "killed too often: what lay in /run/numabd is there" "$(ls /run/numabd)" \
        [ -e /run/numabd/kept ]
    drop_out limit
    systemctl reset-failed numabd
}

bad_start() {
    conf 'interval = sometimes'
    restarts=$(property NRestarts)
    check "a bad file: the start fails" "it started" sh -c '! systemctl start numabd 2>/dev/null'
    check "a bad file: exit status 2" "$(property ExecMainStatus)" is ExecMainStatus 2
    sleep 2
    check "a bad file: not tried again" "$(systemctl status numabd)" is ActiveState failed
    check "a bad file: not restarted" "$(property NRestarts)" is NRestarts "$restarts"
    conf
}

stops() {
    systemctl start numabd
    check "starts after all that" "$(systemctl status numabd)" is ActiveState active
    bench work numa02 --pin --placement node:0 --size 64 --seconds 300 --pages 4k
    wait_field sampled_round 1 40
    systemctl stop numabd
    check "stop while it samples: in time" "$(property Result)" is Result success
    check "stop while it samples: exit status 0" "$(property ExecMainStatus)" is ExecMainStatus 0
    check "stop: the socket is gone" "$(ls /run/numabd)" [ ! -e /run/numabd/bus ]
    stop $pid
}

nothing_refused() {
    refused '/usr/s*bin/numab[a-z]*' >$LOG/refused
    check "the filter refused no system call" "$(cat $LOG/refused)" [ ! -s $LOG/refused ]
    systemd-run --quiet --wait --property 'SystemCallFilter=~mkdir' --property SystemCallErrorNumber=EPERM \
        /usr/bin/mkdir /tmp/refused
    check "a refused one would have been seen" "$(dmesg | tail -n 5)" refused /usr/bin/busybox
}

# Its own lines; systemd's about it have another identifier.
quiet() {
    journalctl -q -o cat _SYSTEMD_UNIT=numabd.service -t numabd >$LOG/lines
    journalctl -q -o cat -p err _SYSTEMD_UNIT=numabd.service -t numabd >$LOG/errors
    check "the journal has its lines" "$(cat $LOG/lines)" grep -q '^version .* sources: ' $LOG/lines
    check "errors in the journal: only the bad files" "$(cat $LOG/errors)" \
        sh -c "! grep -v numabd.conf: $LOG/errors"
    check "and those are named" "$(cat $LOG/errors)" [ "$(wc -l <$LOG/errors)" -eq 2 ]
}

starts
sees_all
moves
clears
# The wait before a restart is 5 s, and shows nothing.
drop_in soon '[Service]' RestartSec=1
watched
reloads
killed
bad_start
stops
nothing_refused
quiet
exit $failed
