/*
 * Forward decoding of 64-bit code: which operands of the line from the IP on resolve, to what.
 */
#include "x86-case.h"

static const struct x86_case cases[] = {
    /* mov (%rdi),%rax */
    {"plain load", CODE("\x48\x8b\x07"), .expect = {READ(RDI, 8)}},
    /* mov %al,0x10(%rsi) */
    {"plain store of a byte", CODE("\x88\x46\x10"), .expect = {WRITE(RSI + 0x10, 1)}},
    /* mov -0x40(%rbp),%ecx */
    {"negative displacement", CODE("\x8b\x4d\xc0"), .expect = {READ(RBP - 0x40, 4)}},
    /* mov 0x80(%r8,%rcx,8),%rax */
    {"base, index and scale", CODE("\x49\x8b\x84\xc8\x80\x00\x00\x00"),
     .expect = {READ(R8 + 8 * RCX + 0x80, 8)}},
    /* mov 0x1000(,%rdx,4),%eax */
    {"index without a base", CODE("\x8b\x04\x95\x00\x10\x00\x00"),
     .expect = {READ(4 * RDX + 0x1000, 4)}},
    /* mov (%r13,%r12,2),%eax */
    {"r12 and r13 as base and index", CODE("\x43\x8b\x44\x65\x00"),
     .expect = {READ(R13 + 2 * R12, 4)}},
    /* add %rax,(%rdi) */
    {"read and write in one", CODE("\x48\x01\x07"), .expect = {BOTH(RDI, 8)}},
    /* cmp %rax,(%rdi) */
    {"compare only reads", CODE("\x48\x39\x07"), .expect = {READ(RDI, 8)}},
    /* lock xadd %eax,(%rbx) */
    {"locked exchange", CODE("\xf0\x0f\xc1\x03"), .expect = {BOTH(RBX, 4)}},
    /* vmovdqu (%rdi),%ymm0 */
    {"vector load", CODE("\xc5\xfe\x6f\x07"), .expect = {READ(RDI, 32)}},
    /* movntps %xmm0,(%rdi) */
    {"vector store, non-temporal", CODE("\x0f\x2b\x07"), .expect = {WRITE(RDI, 16)}},
    /* mov (%rdi),%rax; mov %rdx,(%rsi); add (%r9),%rcx; ret */
    {"every operand of the line", CODE("\x48\x8b\x07\x48\x89\x16\x49\x03\x09\xc3"),
     .expect = {READ(RDI, 8), WRITE(RSI, 8), READ(R9, 8), READ(RSP, 8)}},
    /* mov (%rdi),%rax; mov 8(%rdi),%rcx */
    {"two operands of one line of memory count once", CODE("\x48\x8b\x07\x48\x8b\x4f\x08"),
     .expect = {READ(RDI, 8)}},
    /* mov (%rdi),%rax; mov %rcx,8(%rdi) */
    {"read and write of one line of memory merge", CODE("\x48\x8b\x07\x48\x89\x4f\x08"),
     .expect = {BOTH(RDI, 8)}},
    /* mov (%rdi),%rax; mov 0x40(%rdi),%rcx */
    {"the next line of memory counts apart", CODE("\x48\x8b\x07\x48\x8b\x4f\x40"),
     .expect = {READ(RDI, 8), READ(RDI + 0x40, 8)}},
    /* mov (%rdi),%rdi; mov (%rdi),%rax */
    {"near miss: base overwritten", CODE("\x48\x8b\x3f\x48\x8b\x07"), .expect = {READ(RDI, 8)}},
    /* add $8,%rdi; mov (%rdi),%rax */
    {"carried: base moved on", CODE("\x48\x83\xc7\x08\x48\x8b\x07"), .expect = {READ(RDI + 8, 8)}},
    /* xor %ecx,%ecx; mov (%rdi,%rcx,8),%rax */
    {"carried: index cleared", CODE("\x31\xc9\x48\x8b\x04\xcf"), .expect = {READ(RDI, 8)}},
    /* mov (%rdi),%eax; mov (%rax),%rcx */
    {"near miss: writing eax overwrites rax", CODE("\x8b\x07\x48\x8b\x08"),
     .expect = {READ(RDI, 4)}},
    /* mov $0x1000,%eax; mov (%rax),%rcx */
    {"carried: a constant", CODE("\xb8\x00\x10\x00\x00\x48\x8b\x08"), .expect = {READ(0x1000, 8)}},
    /* mov $-8,%rax; mov (%rdi,%rax),%rcx */
    {"carried: a negative constant", CODE("\x48\xc7\xc0\xf8\xff\xff\xff\x48\x8b\x0c\x07"),
     .expect = {READ(RDI - 8, 8)}},
    /* mov $1,%ah; mov (%rax),%rcx */
    {"near miss: writing ah overwrites rax", CODE("\xb4\x01\x48\x8b\x08")},
    /* mov $1,%r10w; mov (%r10),%rcx */
    {"near miss: writing r10w overwrites r10", CODE("\x66\x41\xba\x01\x00\x49\x8b\x0a")},
    /* cpuid; mov (%rbx),%rsi; mov (%rdi),%rsi */
    {"near miss: hidden writes of cpuid", CODE("\x0f\xa2\x48\x8b\x33\x48\x8b\x37"),
     .expect = {READ(RDI, 8)}},
    /* mul %rsi; mov (%rdx),%rsi */
    {"near miss: hidden write of mul", CODE("\x48\xf7\xe6\x48\x8b\x32")},
    /* cmovz %rsi,%rdi; mov (%rdi),%rax */
    {"near miss: a conditional move may have written", CODE("\x48\x0f\x44\xfe\x48\x8b\x07")},
    /* cmpxchg %rcx,(%rdi); mov (%rax),%rsi */
    {"near miss: cmpxchg may have written rax", CODE("\x48\x0f\xb1\x0f\x48\x8b\x30"),
     .expect = {BOTH(RDI, 8)}},
    /* xchg %rdi,%rsi; mov (%rdi),%rax; mov 0x80(%rsi),%rax */
    {"carried: xchg", CODE("\x48\x87\xfe\x48\x8b\x07\x48\x8b\x86\x80\x00\x00\x00"),
     .expect = {READ(RSI, 8), READ(RDI + 0x80, 8)}},
    /* xchg %di,%si; mov (%rdi),%rax; mov (%rsi),%rax */
    {"near miss: xchg of 16 bits loses both", CODE("\x66\x87\xfe\x48\x8b\x07\x48\x8b\x06")},
    /* xchg %rdi,(%rsi); mov (%rdi),%rax */
    {"near miss: xchg with memory loses the register", CODE("\x48\x87\x3e\x48\x8b\x07"),
     .expect = {BOTH(RSI, 8)}},
    /* lea 0x40(%rdi,%rsi,4),%rax; mov 8(%rax),%rcx */
    {"carried: lea of base and index", CODE("\x48\x8d\x44\xb7\x40\x48\x8b\x48\x08"),
     .expect = {READ(RDI + 4 * RSI + 0x48, 8)}},
    /* lea (%rdi,%rsi,4),%rax; mov (%rax,%r8,8),%rcx */
    {"carried: lea and one more index", CODE("\x48\x8d\x04\xb7\x4a\x8b\x0c\xc0"),
     .expect = {READ(RDI + 4 * RSI + 8 * R8, 8)}},
    /* lea (%rdi,%rsi,4),%rax; lea (%rax,%r8,8),%rax; mov (%rax,%r9),%rcx */
    {"near miss: a sum of four registers is too much",
     CODE("\x48\x8d\x04\xb7\x4a\x8d\x04\xc0\x4a\x8b\x0c\x08")},
    /* lea 0x1000(%rip),%rax; mov (%rax,%rcx,8),%rdx */
    {"carried: rip-relative table", CODE("\x48\x8d\x05\x00\x10\x00\x00\x48\x8b\x14\xc8"),
     .set = {SET(RCX, 5)}, .expect = {READ(IP + 7 + 0x1000 + 40, 8)}},
    /* lea 4(%rdi),%eax; mov (%rax),%rcx */
    {"carried: lea to 32 bits is cut", CODE("\x8d\x47\x04\x48\x8b\x08"),
     .set = {SET(RDI, 0x7ffffffffffe)}, .expect = {READ(2, 8)}},
    /* lea (%edi),%rax; mov (%rax),%rcx */
    {"carried: lea of a 32-bit address is cut", CODE("\x67\x48\x8d\x07\x48\x8b\x08"),
     .set = {SET(RDI, 0x7f0012345678)}, .expect = {READ(0x12345678, 8)}},
    /* mov %esi,%esi; mov (%rdi,%rsi,8),%rax */
    {"carried: an index extended by zeros", CODE("\x89\xf6\x48\x8b\x04\xf7"),
     .set = {SET(RSI, 0xabcd00000003)}, .expect = {READ(RDI + 24, 8)}},
    /* movslq %esi,%rsi; mov (%rdi,%rsi,8),%rax */
    {"carried: an index extended by its sign", CODE("\x48\x63\xf6\x48\x8b\x04\xf7"),
     .set = {SET(RSI, 0xabcdfffffffd)}, .expect = {READ(RDI - 24, 8)}},
    /* movzbl %al,%eax; mov (%rdi,%rax,8),%rax */
    {"carried: a byte", CODE("\x0f\xb6\xc0\x48\x8b\x04\xc7"), .set = {SET(RAX, 0x1203)},
     .expect = {READ(RDI + 24, 8)}},
    /* movzbl %ah,%eax; mov (%rdi,%rax,8),%rax */
    {"near miss: a high byte", CODE("\x0f\xb6\xc4\x48\x8b\x04\xc7")},
    /* cltq; mov (%rdi,%rax,4),%ecx */
    {"carried: cltq", CODE("\x48\x98\x8b\x0c\x87"), .set = {SET(RAX, 0xfffffffe)},
     .expect = {READ(RDI - 8, 4)}},
    /* shl $4,%rcx; add %rdi,%rcx; mov 8(%rcx),%rax */
    {"carried: shift and add", CODE("\x48\xc1\xe1\x04\x48\x01\xf9\x48\x8b\x41\x08"),
     .set = {SET(RCX, 9)}, .expect = {READ(RDI + 152, 8)}},
    /* sub %rsi,%rdi; mov (%rdi),%rax */
    {"carried: a difference", CODE("\x48\x29\xf7\x48\x8b\x07"), .expect = {READ(RDI - RSI, 8)}},
    /* sub %rdi,%rdi; mov 0x2000(%rdi),%rax */
    {"carried: a register less itself", CODE("\x48\x29\xff\x48\x8b\x87\x00\x20\x00\x00"),
     .expect = {READ(0x2000, 8)}},
    /* shr $12,%rcx; and $0x3ff,%ecx; mov (%rdi,%rcx,8),%rax */
    {"carried: shift right and mask",
     CODE("\x48\xc1\xe9\x0c\x81\xe1\xff\x03\x00\x00\x48\x8b\x04\xcf"),
     .set = {SET(RCX, 0x12345678)}, .expect = {READ(RDI + 8 * 0x345, 8)}},
    /* and $0x3f8,%ecx; mov (%rdi,%rcx),%rax */
    {"carried: mask with zeros on both sides", CODE("\x81\xe1\xf8\x03\x00\x00\x48\x8b\x04\x0f"),
     .set = {SET(RCX, 0xfffffff7)}, .expect = {READ(RDI + 0x3f0, 8)}},
    /* and $5,%ecx; mov (%rdi,%rcx),%rax */
    {"near miss: a mask with a hole", CODE("\x83\xe1\x05\x48\x8b\x04\x0f")},
    /* imul $40,%rcx,%rcx; mov (%rdi,%rcx),%rax */
    {"carried: a product", CODE("\x48\x6b\xc9\x28\x48\x8b\x04\x0f"), .set = {SET(RCX, 3)},
     .expect = {READ(RDI + 120, 8)}},
    /* imul %rsi,%rcx; mov (%rdi,%rcx),%rax */
    {"near miss: a product of registers", CODE("\x48\x0f\xaf\xce\x48\x8b\x04\x0f")},
    /* inc %rcx; neg %rcx; mov (%rdi,%rcx,8),%rax */
    {"carried: inc and neg", CODE("\x48\xff\xc1\x48\xf7\xd9\x48\x8b\x04\xcf"), .set = {SET(RCX, 1)},
     .expect = {READ(RDI - 16, 8)}},
    /* add (%rsi),%rdi; mov (%rdi),%rax */
    {"near miss: a sum with memory", CODE("\x48\x03\x3e\x48\x8b\x07"), .expect = {READ(RSI, 8)}},
    /* adc $8,%rdi; mov (%rdi),%rax */
    {"near miss: a carry bit is not known", CODE("\x48\x83\xd7\x08\x48\x8b\x07")},
    /* add $8,%dil; mov (%rdi),%rax */
    {"near miss: add to a byte", CODE("\x40\x80\xc7\x08\x48\x8b\x07")},
    /* shl %cl,%rdi; mov (%rdi),%rax */
    {"near miss: shift by a register", CODE("\x48\xd3\xe7\x48\x8b\x07")},
    /* mov $0,%ecx; rep stosq */
    {"carried: a count of 0", CODE("\xb9\x00\x00\x00\x00\xf3\x48\xab")},
    /* mov %rdx,%rcx; rep stosq */
    {"carried: a count that is 0 in this sample", CODE("\x48\x89\xd1\xf3\x48\xab"),
     .set = {SET(RDX, 0)}},
    /* mov %rdx,%rcx; rep stosq */
    {"carried: a count that is not", CODE("\x48\x89\xd1\xf3\x48\xab"), .set = {SET(RCX, 0)},
     .expect = {WRITE(RDI, 8)}},
    /* 1: mov (%rdi),%rax; | add $0x40,%rdi; dec %rcx; jne 1b; mov (%rsi),%rax */
    {"loop: goes on at its start, with the next address",
     CODE("\x48\x8b\x07\x48\x83\xc7\x40\x48\xff\xc9\x75\xf4\x48\x8b\x06"), .before = 3,
     .expect = {READ(RDI + 0x40, 8)}},
    /* mov (%rbx),%rax; 1: mov (%rdi),%rax; add $0x40,%rdi; dec %rcx; jne 1b; mov (%rsi),%rax */
    {"loop: seen once around",
     CODE("\x48\x8b\x03\x48\x8b\x07\x48\x83\xc7\x40\x48\xff\xc9\x75\xf4\x48\x8b\x06"),
     .expect = {READ(RBX, 8), READ(RDI, 8)}},
    /* 1: mov (%rdi),%rdi; | test %rdi,%rdi; jne 1b */
    {"loop: a chase's next step", CODE("\x48\x8b\x3f\x48\x85\xff\x75\xf8"), .before = 3,
     .expect = {READ(RDI, 8)}},
    /* add $1,%rdi; jne .-0x40; mov (%rsi),%rax */
    {"near miss: a loop's start out of sight", CODE("\x48\x83\xc7\x01\x75\xbc\x48\x8b\x06")},
    /* jmp 1f; mov (%rsi),%rax; 1: mov (%rdi),%rax */
    {"a jump within the code is followed", CODE("\xeb\x03\x48\x8b\x06\x48\x8b\x07"),
     .expect = {READ(RDI, 8)}},
    /* mov (%rdi),%rax; jmp . */
    {"an endless jump ends", CODE("\x48\x8b\x07\xeb\xfe"), .expect = {READ(RDI, 8)}},
    /* mov %rdi,%rax; mov (%rdi),%rcx; mov 0x40(%rax),%rcx */
    {"carried: a copy", CODE("\x48\x89\xf8\x48\x8b\x0f\x48\x8b\x48\x40"),
     .expect = {READ(RDI, 8), READ(RDI + 0x40, 8)}},
    /* mov 0x1000(%rip),%rax */
    {"rip-relative resolves whatever was written", CODE("\x48\x8b\x05\x00\x10\x00\x00"),
     .expect = {READ(IP + 7 + 0x1000, 8)}},
    /* movl $5,0x20(%rip) */
    {"rip-relative with an immediate behind", CODE("\xc7\x05\x20\x00\x00\x00\x05\x00\x00\x00"),
     .expect = {WRITE(IP + 10 + 0x20, 4)}},
    /* mov 0x601000,%eax */
    {"absolute address", CODE("\x8b\x04\x25\x00\x10\x60\x00"), .expect = {READ(0x601000, 4)}},
    /* mov %fs:(%rdi),%rax; mov (%rsi),%rax */
    {"fs-relative is dropped", CODE("\x64\x48\x8b\x07\x48\x8b\x06"), .expect = {READ(RSI, 8)}},
    /* mov %gs:0x28,%rax */
    {"gs-relative is dropped", CODE("\x65\x48\x8b\x04\x25\x28\x00\x00\x00")},
    /* ds mov (%rdi),%rax */
    {"ds prefix changes nothing", CODE("\x3e\x48\x8b\x07"), .expect = {READ(RDI, 8)}},
    /* lea 8(%rdi),%rax */
    {"lea accesses nothing", CODE("\x48\x8d\x47\x08")},
    /* nopl (%rdi) */
    {"nop with an operand accesses nothing", CODE("\x0f\x1f\x07")},
    /* prefetcht0 (%rdi); prefetchw (%rsi); prefetchnta (%rbx) */
    {"prefetch accesses nothing", CODE("\x0f\x18\x0f\x0f\x0d\x0e\x0f\x18\x03")},
    /* clflush (%rdi); clflushopt (%rdi); clwb (%rsi) */
    {"cache control accesses nothing", CODE("\x0f\xae\x3f\x66\x0f\xae\x3f\x66\x0f\xae\x36")},
    /* vgatherdpd %ymm2,(%rdi,%xmm1,8),%ymm0 */
    {"vector gather is unresolved", CODE("\xc4\xe2\xed\x92\x04\xcf")},
    /* vscatterdps %zmm0,(%rdi,%zmm1,4){%k1}; mov %rax,(%rsi) */
    {"scatter is unresolved, the next store is not",
     CODE("\x62\xf2\x7d\x49\xa2\x04\x8f\x48\x89\x06"), .expect = {WRITE(RSI, 8)}},
    /* vmovdqu64 0x40(%rdi),%zmm0 */
    {"AVX-512 compressed displacement", CODE("\x62\xf1\xfe\x48\x6f\x47\x01"),
     .expect = {READ(RDI + 0x40, 64)}},
    /* vaddpd 8(%rdi){1to8},%zmm1,%zmm0 */
    {"embedded broadcast reads one element", CODE("\x62\xf1\xf5\x58\x58\x47\x01"),
     .expect = {READ(RDI + 8, 8)}},
    /* push %rax */
    {"push writes below the stack pointer", CODE("\x50"), .expect = {WRITE(RSP - 8, 8)}},
    /* pop %rax */
    {"pop reads at the stack pointer", CODE("\x58"), .expect = {READ(RSP, 8)}},
    /* push %rax; sub $0x100,%rsp; mov 8(%rsp),%rcx */
    {"the stack is followed over pushes",
     CODE("\x50\x48\x81\xec\x00\x01\x00\x00\x48\x8b\x4c\x24\x08"),
     .expect = {WRITE(RSP - 8, 8), READ(RSP - 0x100, 8)}},
    /* add $0x100,%rsp; lea 0x100(%rsp),%rsp; mov (%rsp),%rcx */
    {"the stack is followed over add and lea",
     CODE("\x48\x81\xc4\x00\x01\x00\x00\x48\x8d\xa4\x24\x00\x01\x00\x00\x48\x8b\x0c\x24"),
     .expect = {READ(RSP + 0x200, 8)}},
    /* and $-64,%rsp; mov 8(%rsp),%rcx */
    {"the stack is followed over an alignment", CODE("\x48\x83\xe4\xc0\x48\x8b\x4c\x24\x08"),
     .set = {SET(RSP, 0x7ffc12345678)}, .expect = {READ(0x7ffc12345648, 8)}},
    /* pop %rsp; mov 0x100(%rsp),%rcx */
    {"near miss: pop rsp", CODE("\x5c\x48\x8b\x8c\x24\x00\x01\x00\x00"), .expect = {READ(RSP, 8)}},
    /* mov %ebp,%esp; mov 0x100(%rsp),%rcx */
    {"carried: mov to esp clears the upper half", CODE("\x89\xec\x48\x8b\x8c\x24\x00\x01\x00\x00"),
     .set = {SET(RBP, 0xab00001000)}, .expect = {READ(0x1100, 8)}},
    /* add $16,%esp; mov 0x100(%rsp),%rcx */
    {"carried: add to esp clears the upper half",
     CODE("\x83\xc4\x10\x48\x8b\x8c\x24\x00\x01\x00\x00"), .expect = {READ(0x110, 8)}},
    /* leave; mov 0x100(%rsp),%rcx */
    {"leave reads at rbp, the stack goes on behind it",
     CODE("\xc9\x48\x8b\x8c\x24\x00\x01\x00\x00"), .expect = {READ(RBP, 8), READ(RBP + 0x108, 8)}},
    /* popq 0x100(%rsp) */
    {"pop to a stack-relative place", CODE("\x8f\x84\x24\x00\x01\x00\x00"),
     .expect = {WRITE(RSP + 0x108, 8), READ(RSP, 8)}},
    /* popq (%rdi) */
    {"pop to memory", CODE("\x8f\x07"), .expect = {WRITE(RDI, 8), READ(RSP, 8)}},
    /* pushq (%rdi) */
    {"push of memory", CODE("\xff\x37"), .expect = {READ(RDI, 8), WRITE(RSP - 8, 8)}},
    /* pushw %ax */
    {"16-bit push", CODE("\x66\x50"), .expect = {WRITE(RSP - 2, 2)}},
    /* call .+64; mov (%rdi),%rax */
    {"call pushes and ends the line", CODE("\xe8\x3b\x00\x00\x00\x48\x8b\x07"),
     .expect = {WRITE(RSP - 8, 8)}},
    /* call *(%rdi); mov (%rsi),%rax */
    {"call through memory", CODE("\xff\x17\x48\x8b\x06"),
     .expect = {READ(RDI, 8), WRITE(RSP - 8, 8)}},
    /* jmp *(%rdi,%rax,8); mov (%rsi),%rax */
    {"jump through a table ends the line", CODE("\xff\x24\xc7\x48\x8b\x06"), .set = {SET(RAX, 3)},
     .expect = {READ(RDI + 24, 8)}},
    /* ret; mov (%rsi),%rax */
    {"ret ends the line", CODE("\xc3\x48\x8b\x06"), .expect = {READ(RSP, 8)}},
    /* jmp .+64; mov (%rsi),%rax */
    {"a jump out of the code ends the line", CODE("\xeb\x3e\x48\x8b\x06")},
    /* jmp *%rax; mov (%rsi),%rax */
    {"a jump to a register ends the line", CODE("\xff\xe0\x48\x8b\x06")},
    /* syscall; mov (%rsi),%rax */
    {"syscall ends the line", CODE("\x0f\x05\x48\x8b\x06")},
    /* int3; mov (%rsi),%rax */
    {"int3 ends the line", CODE("\xcc\x48\x8b\x06")},
    /* ud2; mov (%rsi),%rax */
    {"ud2 ends the line", CODE("\x0f\x0b\x48\x8b\x06")},
    /* jne .+64; mov (%rsi),%rax */
    {"a conditional branch falls through", CODE("\x75\x3e\x48\x8b\x06"), .expect = {READ(RSI, 8)}},
    /* loop .+64; mov (%rcx),%rax; mov (%rsi),%rax */
    {"loop falls through and writes rcx", CODE("\xe2\x3e\x48\x8b\x01\x48\x8b\x06"),
     .expect = {READ(RSI, 8)}},
    /* mov (%rdi),%rax; .byte 6; mov (%rsi),%rax */
    {"an undecodable byte ends the line", CODE("\x48\x8b\x07\x06\x48\x8b\x06"),
     .expect = {READ(RDI, 8)}},
    /* 23 nop; mov (%rdi),%rax */
    {"24 instructions are looked at",
     CODE("\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"
          "\x90\x48\x8b\x07"),
     .expect = {READ(RDI, 8)}},
    /* 24 nop; mov (%rdi),%rax */
    {"near miss: not the 25th", CODE("\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"
                                     "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x48\x8b\x07")},
    /* movsb */
    {"movs reads and writes", CODE("\xa4"), .expect = {WRITE(RDI, 1), READ(RSI, 1)}},
    /* rep movsq */
    {"rep movs at its current elements", CODE("\xf3\x48\xa5"),
     .expect = {WRITE(RDI, 8), READ(RSI, 8)}},
    /* rep stosq */
    {"rep stos", CODE("\xf3\x48\xab"), .expect = {WRITE(RDI, 8)}},
    /* rep stosq */
    {"near miss: rep whose count has run out", CODE("\xf3\x48\xab"), .set = {SET(RCX, 0)}},
    /* addr32 rep stosl */
    {"near miss: rep with a 32-bit count of 0", CODE("\x67\xf3\xab"),
     .set = {SET(RCX, 0x100000000)}},
    /* rep movsb; mov 0x100(%rdi),%rax; mov 0x100(%rsi),%rax; mov 0x100(%rbx),%rax */
    {"after rep the string registers are lost",
     CODE("\xf3\xa4\x48\x8b\x87\x00\x01\x00\x00\x48\x8b\x86\x00\x01\x00\x00\x48\x8b\x83\x00\x01\x00"
          "\x00"),
     .expect = {WRITE(RDI, 1), READ(RSI, 1), READ(RBX + 0x100, 8)}},
    /* repe cmpsb */
    {"cmps", CODE("\xf3\xa6"), .expect = {READ(RSI, 1), READ(RDI, 1)}},
    /* repne scasb */
    {"scas", CODE("\xf2\xae"), .expect = {READ(RDI, 1)}},
    /* lodsq */
    {"lods", CODE("\x48\xad"), .expect = {READ(RSI, 8)}},
    /* fs movsb */
    {"movs from fs keeps its destination", CODE("\x64\xa4"), .expect = {WRITE(RDI, 1)}},
    /* xlat */
    {"xlat adds al", CODE("\xd7"), .set = {SET(RAX, 0x1234fe)}, .expect = {READ(RBX + 0xfe, 1)}},
    /* maskmovdqu %xmm1,%xmm0 */
    {"maskmovdqu writes at rdi", CODE("\x66\x0f\xf7\xc1"), .expect = {WRITE(RDI, 16)}},
    /* bt %rax,(%rdi) */
    {"bt with a register reaches beyond its operand", CODE("\x48\x0f\xa3\x07"),
     .set = {SET(RAX, 0x400)}, .expect = {READ(RDI + 0x80, 8)}},
    /* bts %eax,(%rdi) */
    {"bts with a negative bit number", CODE("\x0f\xab\x07"), .set = {SET(RAX, 0xffffffff)},
     .expect = {BOTH(RDI - 4, 4)}},
    /* btq $3,(%rdi) */
    {"near miss: bt with an immediate stays", CODE("\x48\x0f\xba\x27\x03"),
     .expect = {READ(RDI, 8)}},
    /* mov (%rsi),%eax; bt %rax,(%rdi) */
    {"near miss: bt whose bit number was overwritten", CODE("\x8b\x06\x48\x0f\xa3\x07"),
     .expect = {READ(RSI, 4)}},
    /* xsave (%rdi) */
    {"xsave area", CODE("\x0f\xae\x27"), .expect = {BOTH(RDI, 576)}},
    /* lock cmpxchg16b (%rdi) */
    {"cmpxchg16b", CODE("\xf0\x48\x0f\xc7\x0f"), .expect = {BOTH(RDI, 16)}},
    /* addr32 mov 0x10(%eax),%ecx */
    {"address-size prefix truncates the registers", CODE("\x67\x8b\x48\x10"),
     .set = {SET(RAX, 0x7f0000000020)}, .expect = {READ(0x30, 4)}},
    /* addr32 mov 0x10(%eax),%ecx */
    {"address-size prefix wraps the sum", CODE("\x67\x8b\x48\x10"), .set = {SET(RAX, 0xfffffff8)},
     .expect = {READ(0x8, 4)}},
    /* mov 0x10(%rax),%ecx */
    {"64-bit sums wrap too", CODE("\x8b\x48\x10"), .set = {SET(RAX, 0xfffffffffffffff8)},
     .expect = {READ(0x8, 4)}},
    /* mov (%rax),%ecx */
    {"near miss: an address of the kernel", CODE("\x8b\x08"),
     .set = {SET(RAX, 0xffff888000000000)}},
    /* mov (%rax),%ecx */
    {"near miss: a non-canonical address", CODE("\x8b\x08"), .set = {SET(RAX, 0x0180000000000000)}},
    /* mov (%rax),%ecx */
    {"five-level address", CODE("\x8b\x08"), .set = {SET(RAX, 0x00f0000000000000)},
     .expect = {READ(0x00f0000000000000, 4)}},
    /* endbr64; nop; mov (%rdi),%rax */
    {"endbr64 and nops before", CODE("\xf3\x0f\x1e\xfa\x90\x48\x8b\x07"), .expect = {READ(RDI, 8)}},
};

int main(void)
{
    return x86_cases_run(cases, ARRAY_LENGTH(cases));
}
