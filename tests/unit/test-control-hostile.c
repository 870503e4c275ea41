/*
 * Control against local users who mean harm: whatever one of them sends or holds, the server goes
 * on serving others, and what it keeps for him is bounded.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "control_rig.h"
#include "ctl/client.h"
#include "daemon/control_peer.h"
#include "util/array.h"

enum {
    PER_UID_MAX = 16,
    PEERS_MAX = 64
};

#define BYTES(text) text, sizeof(text) - 1

static void bytes_that_are_not_dbus_end_only_their_connection(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {BYTES("GET / HTTP/1.0\r\n\r\n")},
        {BYTES("\0GET / HTTP/1.0\r\n\r\n")},
        {BYTES("\0AUTH\r\nAUTH\r\n")},
        {BYTES("\0AUTH EXTERNAL 30")},     /* half a line */
        {BYTES("\0AUTH EXTERNAL zz\r\n")}, /* not hexadecimal */
        {BYTES("\0AUTH ANONYMOUS\r\nBEGIN\r\n")},
        {BYTES("\0BEGIN\r\n")}, /* not authenticated */
        {BYTES("\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")},
        {BYTES(
            "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\nl\1\0\1\377\377\377\377\1\0\0\0\377\377\377\377")},
        {BYTES("\0\0\0\0\0\0\0\0")},
        {BYTES("")},
    };
    struct control_rig rig;

    (void)state;
    control_rig_init(&rig, false);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        int fd = control_rig_connect(&rig);

        assert_int_equal(send(fd, cases[i].bytes, cases[i].size, MSG_NOSIGNAL), cases[i].size);
        control_rig_pump(&rig);
        assert_true(control_rig_serves(&rig));
        close(fd);
        control_rig_pump(&rig);
    }
    control_rig_deinit(&rig);
}

static void a_megabyte_without_a_newline_is_cut_off(void **state)
{
    struct control_rig rig;
    char block[4096];
    size_t sent = 0;
    int fd;

    (void)state;
    memset(block, 'A', sizeof block);
    control_rig_init(&rig, false);
    fd = control_rig_connect(&rig);
    for (; sent < 1 << 20; sent += sizeof block) {
        if (send(fd, block, sizeof block, MSG_NOSIGNAL) < 0 && errno != EAGAIN)
            break;
        control_rig_pump(&rig);
    }
    assert_true(sent < 1 << 20);
    assert_true(control_rig_serves(&rig));
    close(fd);
    control_rig_deinit(&rig);
}

/* 16 MiB announced: libsystemd would take it all. */
static void a_message_that_does_not_end_is_cut_off(void **state)
{
    static const char start[] =
        "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\nl\1\0\1\0\0\0\1\1\0\0\0\0\0\0\0";
    const size_t announced = (size_t)16 << 20;
    struct control_rig rig;
    char *block = calloc(1, 65536);
    size_t sent = 0;
    ssize_t n;
    int fd;

    (void)state;
    assert_non_null(block);
    control_rig_init(&rig, false);
    fd = control_rig_connect(&rig);
    assert_true(send(fd, start, sizeof start - 1, MSG_NOSIGNAL) > 0);
    control_rig_pump(&rig);
    assert_false(control_rig_is_closed(fd)); /* so far it is a good client */
    while (sent < announced) {
        n = send(fd, block, 65536, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN)
            break;
        sent += n > 0 ? (size_t)n : 0;
        control_rig_pump(&rig);
    }
    assert_true(sent < announced / 2);
    assert_true(control_rig_serves(&rig));
    close(fd);
    free(block);
    control_rig_deinit(&rig);
}

static void connections_that_go_at_once_leave_their_place(void **state)
{
    struct control_rig rig;

    (void)state;
    control_rig_init(&rig, false);
    for (int i = 0; i < 4 * PEERS_MAX; i++) {
        int fd = control_rig_connect(&rig);

        assert_true(fd >= 0);
        assert_true(send(fd, "\0AUTH EXT", 9, MSG_NOSIGNAL) == 9);
        close(fd);
        if (i % 8 == 0)
            control_rig_pump(&rig);
    }
    assert_true(control_rig_serves(&rig));
    control_rig_deinit(&rig);
}

static void one_user_gets_sixteen_connections(void **state)
{
    struct control_rig rig;
    int fds[PER_UID_MAX + 1];

    (void)state;
    control_rig_init(&rig, false);
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
        fds[i] = control_rig_connect(&rig);
        control_rig_pump(&rig);
    }
    for (size_t i = 0; i < PER_UID_MAX; i++)
        assert_false(control_rig_is_closed(fds[i]));
    assert_true(control_rig_is_closed(fds[PER_UID_MAX]));
    assert_int_equal(control_rig_run(&rig, control_rig_ask_status, rig.bus), CLIENT_FAILED);
    close(fds[3]);
    control_rig_pump(&rig);
    assert_true(control_rig_serves(&rig));
    for (size_t i = 0; i < ARRAY_LENGTH(fds); i++)
        if (i != 3)
            close(fds[i]);
    control_rig_deinit(&rig);
}

/* A child of that uid takes its connections, says so in `ready`, and holds them while `hold` is
 * open. */
static pid_t hold_connections(const struct control_rig *rig, uid_t uid, const int ready[2],
                              const int hold[2])
{
    pid_t pid = fork();
    char byte = 0;

    if (pid != 0)
        return pid;
    close(hold[1]);
    if (setresuid(uid, uid, uid) < 0)
        _exit(1);
    for (int i = 0; i < PER_UID_MAX; i++)
        while (control_rig_connect(rig) < 0)
            usleep(1000); /* the queue is full */
    if (write(ready[1], &byte, 1) != 1)
        _exit(1);
    _exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
}

static void wait_ready(struct control_rig *rig, int fd, int n)
{
    char byte;

    while (n > 0) {
        control_rig_pump(rig);
        if (recv(fd, &byte, 1, MSG_DONTWAIT) == 1)
            n--;
        else
            usleep(1000);
    }
    control_rig_pump(rig);
}

static void root_gets_through_while_others_hold_all_they_can(void **state)
{
    enum {
        USERS = 5
    };
    struct control_rig rig;
    pid_t pids[USERS];
    int ready[2], hold[2], status;

    (void)state;
    if (geteuid() != 0) {
        print_message("connections of several users: not tried, needs root\n");
        skip();
    }
    control_rig_init(&rig, false);
    assert_int_equal(pipe(hold), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ready), 0);
    for (int i = 0; i < USERS; i++)
        pids[i] = hold_connections(&rig, 60001 + (uid_t)i, ready, hold);
    close(hold[0]);
    wait_ready(&rig, ready[0], USERS);
    assert_true(control_rig_serves(&rig));
    close(hold[1]);
    for (int i = 0; i < USERS; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    close(ready[0]);
    close(ready[1]);
    control_rig_deinit(&rig);
}

/* A call that expects an answer; nobody waits for it. */
static int send_question(sd_bus *bus)
{
    CLEANUP(sd_bus_message_unrefp) sd_bus_message *call = NULL;
    uint64_t cookie;
    int r = sd_bus_message_new_method_call(bus, &call, "org.numabd", "/org/numabd", "org.numabd",
                                           "Status");

    return r < 0 ? r : sd_bus_send(bus, call, &cookie);
}

/* Thousands of questions, not one answer read. */
static void who_does_not_read_his_answers_is_dropped(void **state)
{
    struct control_rig rig;
    sd_bus *bus = NULL;
    int fd, r = 0;

    (void)state;
    control_rig_init(&rig, false);
    fd = control_rig_connect(&rig);
    assert_true(sd_bus_new(&bus) >= 0);
    assert_true(sd_bus_set_fd(bus, fd, fd) >= 0);
    assert_true(sd_bus_start(bus) >= 0);
    while (sd_bus_is_ready(bus) == 0) {
        control_rig_pump(&rig);
        assert_true(sd_bus_process(bus, NULL) >= 0);
    }
    for (int i = 0; i < 20000 && r >= 0; i++) {
        r = send_question(bus);
        control_rig_pump(&rig);
    }
    assert_true(r < 0);
    sd_bus_close_unref(bus);
    assert_true(control_rig_serves(&rig));
    control_rig_deinit(&rig);
}

static void note_end(void *userdata)
{
    *(bool *)userdata = true;
}

/* One peer on a socket pair; gives our end. */
static int make_peer(struct control_rig *rig, const struct control_peer_limits *limits,
                     struct control_peer **peerp, bool *ended)
{
    struct control_peer_owner owner = {.on_end = note_end, .userdata = ended};
    struct control_caller caller = {.uid = geteuid()};
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(control_peer_new(peerp, rig->event, fds[0], &caller, &owner, limits), 0);
    return fds[1];
}

static void who_does_not_authenticate_is_dropped(void **state)
{
    struct control_peer_limits limits = {.authenticate_usec = 1000, .idle_usec = UINT64_MAX / 4};
    struct control_peer *peer = NULL;
    struct control_rig rig;
    bool ended = false;
    int fd;

    (void)state;
    control_rig_init(&rig, true);
    fd = make_peer(&rig, &limits, &peer, &ended);
    assert_int_equal(send(fd, "\0AUTH", 5, MSG_NOSIGNAL), 5);
    for (int i = 0; i < 1000 && !ended; i++)
        assert_true(sd_event_run(rig.event, 10000) >= 0);
    assert_true(ended && control_peer_has_ended(peer));
    control_peer_free(peer);
    assert_true(control_rig_is_closed(fd));
    close(fd);
    control_rig_deinit(&rig);
}

static void who_is_silent_too_long_is_dropped_and_not_before(void **state)
{
    static const char hello[] = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n";
    struct control_peer_limits limits = {.authenticate_usec = 1000, .idle_usec = 60000000};
    struct control_peer *peer = NULL;
    struct control_rig rig;
    bool ended = false;
    int fd;

    (void)state;
    control_rig_init(&rig, true);
    for (int i = 0; i < 2; i++, ended = false) {
        fd = make_peer(&rig, &limits, &peer, &ended);
        assert_int_equal(send(fd, hello, sizeof hello - 1, MSG_NOSIGNAL), sizeof hello - 1);
        /* With a long limit it outlives the authentication's; with a short one it does not. */
        for (int n = 0; n < 20 || (limits.idle_usec < 100000 && !ended); n++)
            assert_true(sd_event_run(rig.event, 1000) >= 0);
        assert_int_equal(ended, limits.idle_usec < 100000);
        control_peer_free(peer);
        close(fd);
        limits.idle_usec = 5000;
    }
    control_rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_that_are_not_dbus_end_only_their_connection),
        cmocka_unit_test(a_megabyte_without_a_newline_is_cut_off),
        cmocka_unit_test(a_message_that_does_not_end_is_cut_off),
        cmocka_unit_test(connections_that_go_at_once_leave_their_place),
        cmocka_unit_test(one_user_gets_sixteen_connections),
        cmocka_unit_test(root_gets_through_while_others_hold_all_they_can),
        cmocka_unit_test(who_does_not_read_his_answers_is_dropped),
        cmocka_unit_test(who_does_not_authenticate_is_dropped),
        cmocka_unit_test(who_is_silent_too_long_is_dropped_and_not_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
