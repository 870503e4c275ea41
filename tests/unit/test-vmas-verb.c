/* numabctl vmas, over the real socket: pages put together, and what can happen between them. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "control_rig.h"
#include "ctl/verbs.h"
#include "report/vma_verdict.h"
#include "util/array.h"

#define PID 4711
#define STEP UINT64_C(0x200000)
#define MANY 65530

/* The verb in a process of its own, and what it wrote. */
struct call {
    struct ctl_options options;
    uid_t uid;
    int out, err;
};

static int run_verb(void *argument)
{
    struct call *call = argument;
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        int code;

        dup2(call->out, STDOUT_FILENO);
        dup2(call->err, STDERR_FILENO);
        if (call->uid && (setresgid(call->uid, call->uid, call->uid) < 0 ||
                          setresuid(call->uid, call->uid, call->uid) < 0))
            _exit(99);
        code = verb_vmas(&call->options);
        fflush(stdout);
        _exit(code);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *text_of(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *text = calloc(1, (size_t)size + 1);

    assert_non_null(text);
    assert_int_equal(pread(fd, text, (size_t)size, 0), size);
    return text;
}

/* Return: the exit code; the texts are to be freed. */
static int ask(struct control_rig *rig, const struct ctl_options *options, uid_t uid, char **outp,
               char **errp)
{
    struct call call = {.options = *options,
                        .uid = uid,
                        .out = memfd_create("out", MFD_CLOEXEC),
                        .err = memfd_create("err", MFD_CLOEXEC)};
    int code;

    call.options.bus = rig->bus;
    call.options.pid = PID;
    code = control_rig_run(rig, run_verb, &call);
    *outp = text_of(call.out);
    *errp = text_of(call.err);
    close(call.out);
    close(call.err);
    return code;
}

static void set_process(struct vmas_page *page)
{
    page->process = (struct process_report){.pid = PID,
                                            .comm = "a\nb",
                                            .rss_bytes = UINT64_C(12) << 30,
                                            .n_threads = 64,
                                            .remote_permyriad = 210,
                                            .state = "stable"};
    page->generation = 7;
}

static struct vma_report *add_vma(struct vmas_page *page, uint64_t start)
{
    struct vma_report *vma;

    assert_int_equal(ARRAY_RESERVE(page->vmas.items, page->vmas.cap, page->vmas.n_items + 1), 0);
    vma = &page->vmas.items[page->vmas.n_items++];
    *vma = (struct vma_report){.start = start, .end = start + STEP, .scanned_ago_sec = -1};
    snprintf(vma->policy, sizeof vma->policy, "default");
    snprintf(vma->scan, sizeof vma->scan, "pid_active");
    return vma;
}

static void add_nodes(struct vma_report *vma)
{
    static const struct node_bytes nodes[] = {{0, STEP / 2}, {8, STEP / 2}};
    static const struct node_threads threads[] = {{0, 2}, {8, 1}};

    vma->nodes.items = memcpy(malloc(sizeof nodes), nodes, sizeof nodes);
    vma->thread_nodes.items = memcpy(malloc(sizeof threads), threads, sizeof threads);
    vma->nodes.n_items = vma->thread_nodes.n_items = 2;
    vma->nodes_known = true;
}

/* Two VMAs with everything, and one that nobody used; each on a page of its own. */
static int answer_three(struct control_rig *rig, uid_t uid, const struct vmas_query *query,
                        struct vmas_page *page)
{
    struct vma_report *vma = add_vma(page, query->from ? query->from : STEP);

    (void)rig, (void)uid;
    set_process(page);
    page->next = vma->start == 3 * STEP ? 0 : vma->end;
    if (vma->start == 3 * STEP) {
        vma_verdict_fill(vma, REASON_SHARED_RO, SCAN_SHARED_RO);
        return 0;
    }
    add_nodes(vma);
    vma->page_bytes = 4096;
    vma->n_threads = 3;
    vma->threads = (struct thread_names){{{11, "wor\x1b[31mker"}, {12, ""}}, 2};
    vma->n_scans = 5;
    vma->scanned_ago_sec = 65;
    vma->moved_bytes = STEP;
    vma->ranges.n[REASON_LOCAL] = 1;
    snprintf(vma->name, sizeof vma->name, "/srv/a b\\012\xff\x1b[2J \"x\" (deleted)");
    vma_verdict_fill(vma, REASON_NONE, SCAN_ACTIVE);
    return 0;
}

static void pages_are_one_table_with_safe_names(void **state)
{
    const struct ctl_options options = {0};
    struct control_rig rig;
    char *out, *err;

    (void)state;
    control_rig_init(&rig, false);
    rig.vmas = answer_three;
    assert_int_equal(ask(&rig, &options, 0, &out, &err), 0);
    assert_string_equal(
        out,
        "process 4711 a\\x0ab  12 GiB resident, 64 threads, 3 VMAs, stable\n"
        "RANGE           SIZE   PAGE  POLICY   NODE0  NODE8  THREADS  ON       BUSIEST            "
        "SCANS    AGO  VERDICT                  NAME\n"
        "200000-400000  2 MiB  4 KiB  default  1 MiB  1 MiB        3  0:2 8:1  wor\\x1b[31mker, ?  "
        "    5  1m 5s  moved 2 MiB: in place 1  "
        "/srv/a b\\\\012\xef\xbf\xbd\\x1b[2J \"x\" (deleted)\n"
        "400000-600000  2 MiB  4 KiB  default  1 MiB  1 MiB        3  0:2 8:1  wor\\x1b[31mker, ?  "
        "    5  1m 5s  moved 2 MiB: in place 1  "
        "/srv/a b\\\\012\xef\xbf\xbd\\x1b[2J \"x\" (deleted)\n"
        "1 more, 2 MiB, that nobody was seen to use: shared_ro 1 (--all lists them)\n");
    assert_string_equal(err, "");
    assert_int_equal(rig.n_vmas_calls, 3);
    free(out);
    free(err);
    control_rig_deinit(&rig);
}

static void all_lists_what_nobody_used(void **state)
{
    const struct ctl_options options = {.all = true};
    struct control_rig rig;
    char *out, *err;

    (void)state;
    control_rig_init(&rig, false);
    rig.vmas = answer_three;
    assert_int_equal(ask(&rig, &options, 0, &out, &err), 0);
    assert_non_null(strstr(out, "\n600000-800000 "));
    assert_null(strstr(out, " more, "));
    free(out);
    free(err);
    control_rig_deinit(&rig);
}

static void json_has_every_vma_and_every_field(void **state)
{
    const struct ctl_options options = {.json = true};
    struct control_rig rig;
    char *out, *err;

    (void)state;
    control_rig_init(&rig, false);
    rig.vmas = answer_three;
    assert_int_equal(ask(&rig, &options, 0, &out, &err), 0);
    assert_non_null(strstr(out, "\"process\":{\"pid\":4711,"));
    assert_non_null(strstr(
        out,
        "{\"start\":\"0x200000\",\"end\":\"0x400000\","
        "\"name\":\"/srv/a b\\\\012\xef\xbf\xbd\\u001b[2J \\\"x\\\" (deleted)\","
        "\"policy\":\"default\",\"page_bytes\":4096,\"nodes_known\":true,"
        "\"nodes\":[{\"node\":0,\"bytes\":1048576},{\"node\":8,\"bytes\":1048576}],"
        "\"n_threads\":3,\"thread_nodes\":[{\"node\":0,\"n_threads\":2},{\"node\":8,\"n_threads\":"
        "1}],"
        "\"threads\":[{\"tid\":11,\"comm\":\"wor\\u001b[31mker\"},{\"tid\":12,\"comm\":\"\"}],"
        "\"n_scans\":5,\"scanned_ago_sec\":65,\"scan\":\"pid_active\",\"ranges\":{\"local\":1},"
        "\"moved_bytes\":2097152,\"reason\":\"local\",\"verdict\":\"moved 2 MiB: in place 1\"}"));
    assert_non_null(strstr(out, "\"scanned_ago_sec\":null,"));
    assert_non_null(strstr(out, "\"start\":\"0x600000\""));
    assert_int_equal(out[strlen(out) - 1], '\n');
    free(out);
    free(err);
    control_rig_deinit(&rig);
}

static int answer_many(struct control_rig *rig, uid_t uid, const struct vmas_query *query,
                       struct vmas_page *page)
{
    uint64_t i = query->from / STEP;

    (void)rig, (void)uid;
    set_process(page);
    for (unsigned n = 0; n < VMAS_PAGE_ROWS && i < MANY; n++, i++)
        vma_verdict_fill(add_vma(page, i * STEP), REASON_NONE, SCAN_INACTIVE);
    page->next = i < MANY ? i * STEP : 0;
    return 0;
}

static void vmas_of_65530_come_page_by_page(void **state)
{
    const struct ctl_options options = {.json = true};
    struct control_rig rig;
    size_t n = 0;
    char *out, *err;

    (void)state;
    control_rig_init(&rig, false);
    rig.vmas = answer_many;
    assert_int_equal(ask(&rig, &options, 0, &out, &err), 0);
    /* memmem, since strstr under AddressSanitizer looks for the end each time. */
    for (const char *at = out, *end = out + strlen(out);
         (at = memmem(at, (size_t)(end - at), "{\"start\":", 9)); at++)
        n++;
    assert_int_equal(n, MANY);
    assert_int_equal(rig.n_vmas_calls, 512);
    free(out);
    free(err);
    control_rig_deinit(&rig);
}

/* Ends, or executes another program, when the second page is asked for; or goes round. */
static int answer_vanishing(struct control_rig *rig, uid_t uid, const struct vmas_query *query,
                            struct vmas_page *page)
{
    return query->from ? VMAS_UNKNOWN : answer_three(rig, uid, query, page);
}

static int answer_executing(struct control_rig *rig, uid_t uid, const struct vmas_query *query,
                            struct vmas_page *page)
{
    int r = answer_three(rig, uid, query, page);

    page->generation += query->from > 0;
    return r;
}

static int answer_circling(struct control_rig *rig, uid_t uid, const struct vmas_query *query,
                           struct vmas_page *page)
{
    int r = answer_three(rig, uid, query, page);

    page->next = query->from ? query->from : page->next;
    return r;
}

static int answer_left_alone(struct control_rig *rig, uid_t uid, const struct vmas_query *query,
                             struct vmas_page *page)
{
    (void)rig, (void)uid, (void)query;
    set_process(page);
    page->process.state = "too_small";
    return VMAS_LEFT_ALONE;
}

static void failures_are_one_line_and_print_no_half_answer(void **state)
{
    static const struct {
        int (*answer)(struct control_rig *, uid_t, const struct vmas_query *, struct vmas_page *);
        const char *line;
    } cases[] = {
        {NULL, "numabctl: numabd knows no process 4711\n"},
        {answer_left_alone, "numabctl: process 4711 is left alone: too_small\n"},
        {answer_vanishing, "numabctl: numabd knows no process 4711\n"},
        {answer_executing, "numabctl: process 4711 executed another program meanwhile\n"},
        {answer_circling, "numabctl: cannot use the answer of numabd: Bad message\n"},
    };
    const struct ctl_options options = {.json = true};
    struct control_rig rig;

    (void)state;
    control_rig_init(&rig, false);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char *out, *err;

        rig.vmas = cases[i].answer;
        assert_int_equal(ask(&rig, &options, 0, &out, &err), EXIT_FAILURE);
        assert_string_equal(out, "");
        assert_string_equal(err, cases[i].line);
        free(out);
        free(err);
    }
    control_rig_deinit(&rig);
}

static int answer_root_only(struct control_rig *rig, uid_t uid, const struct vmas_query *query,
                            struct vmas_page *page)
{
    return uid ? VMAS_FOREIGN : answer_three(rig, uid, query, page);
}

static void others_are_refused(void **state)
{
    const struct ctl_options options = {0};
    struct control_rig rig;
    char *out, *err;

    (void)state;
    if (geteuid() != 0) {
        print_message("as another user: not tried, needs root\n");
        skip();
    }
    control_rig_init(&rig, false);
    rig.vmas = answer_root_only;
    assert_int_equal(ask(&rig, &options, 65534, &out, &err), EXIT_REFUSED);
    assert_string_equal(out, "");
    assert_string_equal(err, "numabctl: numabd refuses: process 4711 is another user's\n");
    free(out);
    free(err);
    control_rig_deinit(&rig);
}

static void without_a_daemon_it_says_so(void **state)
{
    const struct ctl_options options = {.bus = "/nonexistent/numabd/bus", .pid = PID};

    (void)state;
    assert_int_equal(verb_vmas(&options), EXIT_ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_one_table_with_safe_names),
        cmocka_unit_test(all_lists_what_nobody_used),
        cmocka_unit_test(json_has_every_vma_and_every_field),
        cmocka_unit_test(vmas_of_65530_come_page_by_page),
        cmocka_unit_test(failures_are_one_line_and_print_no_half_answer),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(without_a_daemon_it_says_so),
    };

    return cmocka_run_group_tests_name("vmas verb", tests, NULL, NULL);
}
