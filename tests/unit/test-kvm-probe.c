/*
 * Hosts on which the kvm source has nothing to do, or cannot find out.
 */
#include "kvm_world.h"

#include <errno.h>
#include <string.h>

#include "util/array.h"

static int setup(void **state)
{
    static struct kvm_world world;

    kvm_world_open(&world);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    kvm_world_close(*state);
    return 0;
}

static void test_hosts_without_kvm(void **state)
{
    static const char *const texts[] = {"", "235 autofs\n 10 kvmx\n", "kvm\n", "232kvm\n"};
    struct kvm_world *world = *state;
    struct source_options options = {.host = &world->host, .pool = world->pool};
    struct source_reason reason;
    struct source source = {0};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tree_write(&world->tree, "proc/misc", texts[i], strlen(texts[i]));
        assert_int_equal(kvm_new(&source, &options, &reason), SOURCE_UNAVAILABLE);
        assert_non_null(strstr(reason.text, "kvm_intel"));
    }
    tree_remove(&world->tree, "proc/misc");
    assert_int_equal(kvm_new(&source, &options, &reason), SOURCE_UNAVAILABLE);
    assert_null(source.self);
}

static int read_file(void *self, const char *path, size_t limit, char **bufp, size_t *sizep)
{
    (void)path, (void)limit, (void)bufp, (void)sizep;
    return *(int *)self;
}

/* The sampler took it for its own failure, and told no source anything until there were files. */
static void test_without_files_left_it_is_tried_later(void **state)
{
    static const struct host_ops ops = {.read_file = read_file};
    int errors[] = {-EMFILE, -ENFILE, -EIO};
    struct kvm_world *world = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(errors); i++) {
        const struct host host = {.ops = &ops, .self = &errors[i]};
        struct source_options options = {.host = &host, .pool = world->pool};
        struct source_reason reason = {""};
        struct source source = {0};

        assert_int_equal(kvm_new(&source, &options, &reason), SOURCE_UNAVAILABLE);
        assert_non_null(strstr(reason.text, strerrordesc_np(-errors[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hosts_without_kvm, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_files_left_it_is_tried_later, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
