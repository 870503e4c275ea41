#include "attribute/requests.h"

#include <errno.h>
#include <fcntl.h>

#include "util/nsec.h"
#include "util/procfs.h"

/* maps of 65,530 VMAs takes some 50 ms to print; beyond this the mmap_lock is not to be had. */
#define MAPS_TIMEOUT_BASE (5 * NSEC_PER_SEC)
/* Seen: 1 us a VMA to print and read; ten times that for as many as there were last time. */
#define MAPS_TIMEOUT_PER_VMA 10000

int maps_request_new(struct maps_request **requestp, struct space *space, const struct host *host,
                     const struct work_ops *ops, void *owner)
{
    struct maps_request *maps = calloc(1, sizeof *maps);

    if (!maps)
        return -ENOMEM;
    maps->request = (struct request){
        .work = {.ops = ops,
                 .pid = space->pid,
                 .owner = owner,
                 .timeout_nsec = MAPS_TIMEOUT_BASE + space->vmas.n_items * MAPS_TIMEOUT_PER_VMA},
        .host = *host,
        .pid = space->pid,
        .generation = space->generation,
    };
    /* A copy: moves that are planned meanwhile check their process by the space's own. */
    maps->fd = space->maps_fd < 0 ? -1 : fcntl(space->maps_fd, F_DUPFD_CLOEXEC, 3);
    if (maps->fd < 0 && space->maps_fd >= 0) {
        free(maps);
        return -EMFILE;
    }
    *requestp = maps;
    return 0;
}

void maps_request_run(struct work *work)
{
    struct maps_request *maps = (struct maps_request *)work;
    const struct host *host = &maps->request.host;
    CLEANUP(freep) char *text = NULL;
    uint64_t cpu = host_cpu_nsec(host);
    size_t size = 0;

    maps->request.r = host->ops->read_maps(host->self, maps->request.pid, &maps->fd, &text, &size);
    if (!maps->request.r)
        maps->request.r = vma_list_parse(&maps->vmas, text, size);
    vma_list_set_ipc_ns(&maps->vmas, host, maps->request.pid);
    maps->request.cpu_nsec = host_cpu_nsec(host) - cpu;
}

void maps_request_free(struct work *work)
{
    struct maps_request *maps = (struct maps_request *)work;

    fd_close(maps->fd);
    vma_list_deinit(&maps->vmas);
    free(maps);
}
