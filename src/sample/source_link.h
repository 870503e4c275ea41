#pragma once
/*
 * Source link: what a source shares with its requests, and nothing else. A request can outlive the
 * source, for a lost worker may give it back at any time. The link is counted, and no longer leads
 * to the source once that is freed.
 */
struct source_link {
    unsigned n_refs; /* atomic: workers give up theirs too */
    void *owner;     /* loop thread only; NULL once it is freed */
};

/* Return: with one reference, or NULL without memory. */
struct source_link *source_link_new(void *owner);
struct source_link *source_link_ref(struct source_link *link);
struct source_link *source_link_unref(struct source_link *link);
/* The owner's end: it gives up its reference. NULL is allowed. */
struct source_link *source_link_cut(struct source_link *link);
