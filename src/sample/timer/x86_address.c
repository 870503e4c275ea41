/*
 * A sample says where a thread was and what its registers held. The code from there on accesses
 * memory through these registers; an operand can be computed as long as its registers hold values
 * that were computed from the sampled ones.
 *
 * Where the flow goes from there: over direct jumps; back where a condition may go back, as loops
 * are left once and repeated often; past other conditions. It ends where it comes to an instruction
 * a second time, so that a loop is seen once around, and where it leaves the code that is known.
 *
 * A real CPU reports the IP just behind the instruction that it waited for, so the instruction
 * before the IP counts too. x86 code cannot be read backwards, but decoding falls into step with it
 * within a few instructions wherever it starts. So it is decoded from each of the 32 bytes before
 * the IP; what most of the runs that end exactly at the IP name as their last instruction is it.
 * When that is a branch, or when the code branches back to the IP (a loop's head), the thread came
 * from somewhere else and nothing is said. Its operand is valid as the registers are now, unless it
 * overwrote them itself, as mov (%rax),%rax does. Where a loop leads to the same instruction again,
 * the operand that it had counts, not the one that it will have.
 */
#include "sample/timer/x86_address.h"

#include "sample/timer/x86_carry.h"
#include "sample/timer/x86_insn.h"

#define LINE_BYTES 64
#define VOTE_BYTES 32 /* enough to fall into step with the code */
#define INSTRUCTION_BYTES_MAX ZYDIS_MAX_INSTRUCTION_LENGTH

/* The way that the flow takes, by the offsets of its instructions. */
struct path {
    int64_t offsets[X86_INSTRUCTIONS_MAX];
    unsigned n;
    bool comes_back; /* branches to the IP */
};

static bool path_has(const struct path *path, int64_t offset)
{
    for (unsigned i = 0; i < path->n; i++)
        if (path->offsets[i] == offset)
            return true;
    return false;
}

static size_t line_add(struct x86_line *line, const struct x86_insn *insn,
                       const struct x86_known *known, bool backward)
{
    size_t index = 0, n_before = line->n;

    while (line->n < X86_OPERANDS_MAX &&
           x86_insn_next_operand(insn, known, &index, &line->operands[line->n]))
        line->operands[line->n++].backward = backward;
    return line->n - n_before;
}

static void line_remove(struct x86_line *line, int64_t offset)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < line->n; i++)
        if (line->operands[i].offset != offset)
            line->operands[n_kept++] = line->operands[i];
    line->n = n_kept;
}

/* Where the flow goes behind the instruction. Return: false when that is not known. */
static bool flow_next(const struct x86_insn *insn, struct path *path, int64_t *offsetp)
{
    bool is_jump = insn->info.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
    bool is_condition = insn->info.meta.category == ZYDIS_CATEGORY_COND_BR;
    int64_t target;

    if ((is_jump || is_condition) && x86_insn_target(insn, &target)) {
        path->comes_back |= target == 0;
        if (is_jump || target <= insn->offset) {
            *offsetp = target;
            return true;
        }
    }
    *offsetp = insn->offset + insn->info.length;
    return x86_insn_falls_through(insn);
}

static void decode_forward(struct x86_line *line, struct path *path, const ZydisDecoder *decoder,
                           const struct x86_code *code)
{
    struct x86_known known;
    struct x86_insn insn;
    int64_t offset = 0;

    x86_known_init(&known);
    while (path->n < X86_INSTRUCTIONS_MAX && !path_has(path, offset) &&
           x86_insn_decode(&insn, decoder, code, offset)) {
        path->offsets[path->n++] = offset;
        line_add(line, &insn, &known, false);
        if (!flow_next(&insn, path, &offset))
            break;
        x86_known_apply(&known, &insn);
    }
}

/*
 * Return: the length that more than half of the runs agree on, 0 for none. A run that starts at one
 * byte goes on as the run that starts where its first instruction ends, so one pass from the last
 * byte to the first knows how each run ends.
 */
static unsigned vote_length(const ZydisDecoder *decoder, const struct x86_code *code)
{
    unsigned last[VOTE_BYTES + 1] = {0}; /* by distance to the IP: length of the run's last */
    unsigned votes[INSTRUCTION_BYTES_MAX + 1] = {0}, n_votes = 0;

    for (unsigned distance = 1; distance <= VOTE_BYTES && distance <= code->ip; distance++) {
        unsigned length = x86_insn_length(decoder, code, -(int64_t)distance);

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

static void decode_backward(struct x86_line *line, const ZydisDecoder *decoder,
                            const struct x86_code *code)
{
    int64_t offset = -(int64_t)vote_length(decoder, code);
    struct x86_line before = {.n = 0};
    struct x86_known known;
    struct x86_insn insn;

    if (offset == 0 || !x86_insn_decode(&insn, decoder, code, offset) || x86_insn_is_branch(&insn))
        return;
    x86_known_before(&known, &insn);
    if (line_add(&before, &insn, &known, true) == 0)
        return;
    line_remove(line, offset);
    for (size_t i = 0; i < before.n && line->n < X86_OPERANDS_MAX; i++)
        line->operands[line->n++] = before.operands[i];
}

void x86_line_decode(struct x86_line *line, const struct x86_code *code, bool backward)
{
    struct path path = {.n = 0};
    ZydisDecoder decoder;

    line->n = 0;
    x86_decoder_init(&decoder, code->is_32bit);
    decode_forward(line, &path, &decoder, code);
    if (backward && !path.comes_back)
        decode_backward(line, &decoder, code);
}

/* User addresses have at most 56 bits, with five-level page tables. */
static bool is_user_address(uint64_t addr)
{
    return addr >> 56 == 0;
}

/* Return: how many they are now. */
static size_t accesses_add(struct x86_access *accesses, size_t n, const struct x86_access *access)
{
    for (size_t i = 0; i < n; i++) {
        if (accesses[i].addr / LINE_BYTES != access->addr / LINE_BYTES)
            continue;
        if (accesses[i].kind != access->kind)
            accesses[i].kind = ACCESS_READ_WRITE;
        return n;
    }
    if (n < X86_ACCESSES_MAX)
        accesses[n++] = *access;
    return n;
}

size_t x86_operands_evaluate(const struct x86_operand *operands, size_t n,
                             const struct x86_state *state,
                             struct x86_access accesses[X86_ACCESSES_MAX])
{
    size_t n_accesses = 0;

    for (size_t i = 0; i < n; i++) {
        const struct x86_operand *operand = &operands[i];
        struct x86_access access = {
            .addr = x86_bits(x86_value_evaluate(&operand->address, state), operand->address_bits),
            .size = operand->size,
            .kind = operand->kind,
            .backward = operand->backward,
        };

        if (is_user_address(access.addr) &&
            (!operand->is_counted || x86_term_evaluate(&operand->count, state) != 0))
            n_accesses = accesses_add(accesses, n_accesses, &access);
    }
    return n_accesses;
}
