/*
 * A sample says where a thread was and what its registers held. The straight line of code from
 * there on accesses memory through these registers; an operand can be computed as long as none of
 * its registers was written on the way. Conditional branches are taken to fall through; the line
 * ends at the first instruction behind which the flow never goes on by itself.
 *
 * A real CPU reports the IP just behind the instruction that it waited for, so the instruction
 * before the IP counts too. x86 code cannot be read backwards, but decoding falls into step with it
 * within a few instructions wherever it starts. So it is decoded from each of the 32 bytes before
 * the IP; what most of the runs that end exactly at the IP name as their last instruction is it.
 * When that is a branch, or when the line branches back to the IP (a loop's head), the thread came
 * from somewhere else and nothing is said. Its operand is valid as the registers are now, unless it
 * overwrote them itself, as mov (%rax),%rax does.
 */
#include "sample/x86_address.h"

#include "sample/x86_insn.h"

#define LINE_BYTES 64
#define INSTRUCTION_BYTES_MAX ZYDIS_MAX_INSTRUCTION_LENGTH

struct results {
    struct x86_access *items;
    size_t n;
};

/* User addresses have at most 56 bits, with five-level page tables. */
static bool is_user_address(uint64_t addr)
{
    return addr >> 56 == 0;
}

static void results_add(struct results *results, const struct x86_access *access)
{
    if (!is_user_address(access->addr))
        return;
    for (size_t i = 0; i < results->n; i++) {
        struct x86_access *known = &results->items[i];

        if (known->addr / LINE_BYTES != access->addr / LINE_BYTES)
            continue;
        if (known->kind != access->kind)
            known->kind = ACCESS_READ_WRITE;
        return;
    }
    if (results->n < X86_ACCESSES_MAX)
        results->items[results->n++] = *access;
}

static void results_add_insn(struct results *results, const struct x86_insn *insn,
                             const struct x86_known *known, bool backward)
{
    struct x86_access access = {.backward = backward};
    size_t index = 0;

    while (x86_insn_next_access(insn, known, &index, &access))
        results_add(results, &access);
}

/* Return: whether the line branches back to where it began. */
static bool forward_resolve(struct results *results, const ZydisDecoder *decoder,
                            const struct x86_code *code, const struct x86_state *state)
{
    struct x86_known known = {.state = state};
    struct x86_insn insn;
    uint64_t address = state->ip, target;
    bool is_loop = false;

    for (unsigned i = 0; i < X86_INSTRUCTIONS_MAX; i++) {
        if (!x86_insn_decode(&insn, decoder, code, address))
            break;
        results_add_insn(results, &insn, &known, false);
        is_loop |=
            x86_insn_is_branch(&insn) && x86_insn_target(&insn, &target) && target == state->ip;
        if (!x86_insn_falls_through(&insn))
            break;
        x86_insn_apply(&insn, &known);
        address += insn.info.length;
    }
    return is_loop;
}

/*
 * Return: the length that more than half of the runs agree on, 0 for none. A run that starts at one
 * byte goes on as the run that starts where its first instruction ends, so one pass from the last
 * byte to the first knows how each run ends.
 */
static unsigned vote_length(const ZydisDecoder *decoder, const struct x86_code *code, uint64_t ip)
{
    unsigned last[X86_BEFORE_BYTES + 1] = {0}; /* by distance to ip: length of the run's last */
    unsigned votes[INSTRUCTION_BYTES_MAX + 1] = {0}, n_votes = 0;

    for (uint64_t distance = 1; distance <= X86_BEFORE_BYTES && distance <= ip - code->start;
         distance++) {
        unsigned length = x86_insn_length(decoder, code, ip - distance);

        if (length == distance)
            last[distance] = length;
        else if (length > 0 && length < distance)
            last[distance] = last[distance - length];
        votes[last[distance]]++;
        n_votes += last[distance] > 0;
    }
    for (unsigned length = 1; length <= INSTRUCTION_BYTES_MAX; length++)
        if (votes[length] * 2 > n_votes)
            return length;
    return 0;
}

static void backward_resolve(struct results *results, const ZydisDecoder *decoder,
                             const struct x86_code *code, const struct x86_state *state)
{
    struct x86_known known = {.state = state};
    unsigned length = vote_length(decoder, code, state->ip);
    struct x86_insn insn;

    if (!length || !x86_insn_decode(&insn, decoder, code, state->ip - length) ||
        x86_insn_is_branch(&insn))
        return;
    x86_insn_apply(&insn, &known);
    known.stack_bytes = -known.stack_bytes; /* from after the instruction to before it */
    results_add_insn(results, &insn, &known, true);
}

size_t x86_address_resolve(const struct x86_code *code, const struct x86_state *state,
                           bool backward, struct x86_access accesses[X86_ACCESSES_MAX])
{
    struct results results = {.items = accesses};
    ZydisDecoder decoder;

    if (state->ip - code->start >= code->size)
        return 0;
    x86_decoder_init(&decoder, state->is_32bit);
    if (!forward_resolve(&results, &decoder, code, state) && backward)
        backward_resolve(&results, &decoder, code, state);
    return results.n;
}
