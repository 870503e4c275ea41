/*
 * The instruction before the IP, and 32-bit code.
 */
#include "x86-case.h"

static const struct x86_case cases[] = {
    /* mov (%edi),%eax */
    {"32-bit load", CODE("\x8b\x07"), .is_32bit = true, .expect = {READ(EDI, 4)}},
    /* mov 0x8049000,%eax */
    {"32-bit absolute address", CODE("\xa1\x00\x90\x04\x08"), .is_32bit = true,
     .expect = {READ(0x8049000, 4)}},
    /* mov 0x20(%eax),%ecx */
    {"32-bit wraps", CODE("\x8b\x48\x20"), .is_32bit = true, .set = {SET(RAX, 0xfffffff0)},
     .expect = {READ(0x10, 4)}},
    /* mov (%eax),%ecx */
    {"32-bit ignores the upper halves", CODE("\x8b\x08"), .is_32bit = true,
     .set = {SET(RAX, 0x1234567800001000)}, .expect = {READ(0x1000, 4)}},
    /* push %eax */
    {"32-bit push", CODE("\x50"), .is_32bit = true, .expect = {WRITE(ESP - 4, 4)}},
    /* pusha; popa; mov 0x100(%esp),%eax; mov (%ebx),%eax */
    {"32-bit pusha and popa", CODE("\x60\x61\x8b\x84\x24\x00\x01\x00\x00\x8b\x03"),
     .is_32bit = true, .set = {SET(RSP, 0x11000020)},
     .expect = {BOTH(0x11000000, 32), READ(0x11000120, 4)}},
    /* inc %eax; mov (%edi),%ecx; mov 0x100(%eax),%ecx */
    {"32-bit inc is no prefix", CODE("\x40\x8b\x0f\x8b\x88\x00\x01\x00\x00"), .is_32bit = true,
     .set = {SET(RAX, 0xffffffffff)}, .expect = {READ(EDI, 4), READ(0x100, 4)}},
    /* lea (%eax,%ecx,4),%edx; mov (%edx),%edx */
    {"32-bit sums wrap", CODE("\x8d\x14\x88\x8b\x12"), .is_32bit = true,
     .set = {SET(RAX, 0xfffff000), SET(RCX, 0x1000)}, .expect = {READ(0x3000, 4)}},
    /* sar $2,%eax; mov (%eax),%edx */
    {"32-bit shifts see no upper half", CODE("\xc1\xf8\x02\x8b\x10"), .is_32bit = true,
     .set = {SET(RAX, 0x100004000)}, .expect = {READ(0x1000, 4)}},
    /* addr16 mov 4(%bx,%si),%ecx */
    {"16-bit addressing", CODE("\x67\x8b\x48\x04"), .is_32bit = true,
     .set = {SET(RBX, 0x7fff), SET(RSI, 0x7fff)}, .expect = {READ(0x0002, 4)}},
    /* es mov (%edi),%eax */
    {"32-bit es override", CODE("\x26\x8b\x07"), .is_32bit = true, .expect = {READ(EDI, 4)}},
    /* mov %gs:0x14,%eax */
    {"32-bit gs is dropped", CODE("\x65\xa1\x14\x00\x00\x00"), .is_32bit = true},
    /* int $0x80; mov (%edi),%eax */
    {"32-bit int $0x80 ends the line", CODE("\xcd\x80\x8b\x07"), .is_32bit = true},
    /* les (%edi),%eax */
    {"32-bit les is no vector prefix", CODE("\xc4\x07"), .is_32bit = true,
     .expect = {READ(EDI, 6)}},
    /* (6 instructions); mov 8(%rdi),%rax | ret */
    {"backward: the load before the IP",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x8b\x47\x08"
          "\xc3"),
     .before = 27, .backward = true, .expect = {READ(RSP, 8), BACK_READ(RDI + 8, 8)}},
    /* (6 instructions); mov 8(%rdi),%rax | ret */
    {"backward: off",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x8b\x47\x08"
          "\xc3"),
     .before = 27, .expect = {READ(RSP, 8)}},
    /* (6 instructions); mov %rax,0x12345678(%rsi,%rcx,4) | ret */
    {"backward: the store before the IP",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x89\x84\x8e\x78\x56\x34\x12"
          "\xc3"),
     .before = 31, .backward = true,
     .expect = {READ(RSP, 8), BACK_WRITE(RSI + 4 * RCX + 0x12345678, 8)}},
    /* (6 instructions); vmovdqu 0x20(%r11),%ymm3 | ret */
    {"backward: vector load",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\xc4\xc1\x7e\x6f\x5b\x20"
          "\xc3"),
     .before = 29, .backward = true, .expect = {READ(RSP, 8), BACK_READ(R11 + 0x20, 32)}},
    /* (6 instructions); mov 8(%rdi),%rax | mov (%rsi),%rcx */
    {"backward: before and at the IP",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x8b\x47\x08"
          "\x48\x8b\x0e"),
     .before = 27, .backward = true, .expect = {READ(RSI, 8), BACK_READ(RDI + 8, 8)}},
    /* (6 instructions); mov 8(%rdi),%rax | mov (%rdi),%rcx */
    {"backward: same line of memory counts once",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x8b\x47\x08"
          "\x48\x8b\x0f"),
     .before = 27, .backward = true, .expect = {READ(RDI, 8)}},
    /* (6 instructions); mov (%rax),%rax | ret */
    {"backward: near miss: it overwrote its base",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x8b\x00"
          "\xc3"),
     .before = 26, .backward = true, .expect = {READ(RSP, 8)}},
    /* (6 instructions); mov (%rax),%eax | ret */
    {"backward: near miss: it overwrote half of its base",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x8b\x00"
          "\xc3"),
     .before = 25, .backward = true, .expect = {READ(RSP, 8)}},
    /* (6 instructions); mov (%rdi,%rcx,8),%cl | ret */
    {"backward: near miss: it overwrote its index",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x8a\x0c\xcf"
          "\xc3"),
     .before = 26, .backward = true, .expect = {READ(RSP, 8)}},
    /* (6 instructions); mov 0x100(%rip),%rax | ret */
    {"backward: rip-relative to itself",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x8b\x05\x00\x01\x00\x00"
          "\xc3"),
     .before = 30, .backward = true, .expect = {READ(RSP, 8), BACK_READ(IP + 0x100, 8)}},
    /* (6 instructions); push %rax | mov (%rdi),%rcx */
    {"backward: push, as the stack is now",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x50"
          "\x48\x8b\x0f"),
     .before = 24, .backward = true, .expect = {READ(RDI, 8), BACK_WRITE(RSP, 8)}},
    /* (6 instructions); pop %rax | mov (%rdi),%rcx */
    {"backward: pop, as the stack is now",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x58"
          "\x48\x8b\x0f"),
     .before = 24, .backward = true, .expect = {READ(RDI, 8), BACK_READ(RSP - 8, 8)}},
    /* (6 instructions); rep movsb | mov (%rbx),%rcx */
    {"backward: near miss: string registers have moved on",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\xf3\xa4"
          "\x48\x8b\x0b"),
     .before = 25, .backward = true, .expect = {READ(RBX, 8)}},
    /* (6 instructions); mov 8(%rdi),%rax; jne .+64 | ret */
    {"backward: near miss: behind a conditional branch",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x8b\x47\x08\x75\x3e"
          "\xc3"),
     .before = 29, .backward = true, .expect = {READ(RSP, 8)}},
    /* (6 instructions); call *8(%rdi) | mov (%rbx),%rcx */
    {"backward: near miss: behind a call",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\xff\x57\x08"
          "\x48\x8b\x0b"),
     .before = 26, .backward = true, .expect = {READ(RBX, 8)}},
    /* (6 instructions); mov 8(%rdi),%rax; ret | mov (%rbx),%rcx */
    {"backward: near miss: behind a ret",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x8b\x47\x08\xc3"
          "\x48\x8b\x0b"),
     .before = 28, .backward = true, .expect = {READ(RBX, 8)}},
    /* (6 instructions); syscall | mov (%rbx),%rcx */
    {"backward: near miss: behind a syscall",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x0f\x05"
          "\x48\x8b\x0b"),
     .before = 25, .backward = true, .expect = {READ(RBX, 8)}},
    /* (6 instructions); prefetcht0 (%rdi) | mov (%rbx),%rcx */
    {"backward: near miss: a hint",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x0f\x18\x0f"
          "\x48\x8b\x0b"),
     .before = 26, .backward = true, .expect = {READ(RBX, 8)}},
    /* ret; nop; int3; int3; int3; int3 | mov (%rbx),%rcx */
    {"backward: near miss: padding of the function before",
     CODE("\xc3\x90\xcc\xcc\xcc\xcc"
          "\x48\x8b\x0b"),
     .before = 6, .backward = true, .expect = {READ(RBX, 8)}},
    /* (6 instructions); mov 8(%rsi),%rcx | 1: add (%rdi),%rax; dec %rdx; jne 1b */
    {"backward: near miss: the IP is a loop's head",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x8b\x4e\x08"
          "\x48\x03\x07\x48\xff\xca\x75\xf8"),
     .before = 27, .backward = true, .expect = {READ(RDI, 8)}},
    /* (6 instructions); mov 8(%rsi),%rcx | add (%rdi),%rax; 1: dec %rdx; jne 1b */
    {"backward: a loop that goes elsewhere is no such thing",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x8b\x4e\x08"
          "\x48\x03\x07\x48\xff\xca\x75\xfb"),
     .before = 27, .backward = true, .expect = {READ(RDI, 8), BACK_READ(RSI + 8, 8)}},
    /* (6 instructions); mov 8(%rsi),%rcx | 1: add (%rdi),%rax; jmp 1b */
    {"backward: near miss: jump back to the IP",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x8b\x4e\x08"
          "\x48\x03\x07\xeb\xfb"),
     .before = 27, .backward = true, .expect = {READ(RDI, 8)}},
    /* (6 instructions); 1: mov (%rdi),%rax | add $0x40,%rdi; dec %rcx; jne 1b */
    {"backward: in a loop the address it had counts, not the next",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x8b\x07"
          "\x48\x83\xc7\x40\x48\xff\xc9\x75\xf4"),
     .before = 26, .backward = true, .expect = {BACK_READ(RDI, 8)}},
    /* (6 instructions); 1: mov (%rdi),%rdi | test %rdi,%rdi; jne 1b */
    {"backward: a chase that lost its address gives the next",
     CODE("\x48\x89\xe5\x45\x31\xf6\x49\x81\xc6\x45\x23\x01\x00\x4d\x29\xfe\x4d\x89\xf5\x49\xc1\xe5"
          "\x03\x48\x8b\x3f"
          "\x48\x85\xff\x75\xf8"),
     .before = 26, .backward = true, .expect = {READ(RDI, 8)}},
    /* mov (%rdi),%rax */
    {"backward: nothing before the IP", CODE("\x48\x8b\x07"), .backward = true,
     .expect = {READ(RDI, 8)}},
    /* mov %esp,%ebp; xor %esi,%esi; add $0x12345,%ecx; mov 8(%edi),%eax | ret */
    {"backward: 32-bit",
     CODE("\x89\xe5\x31\xf6\x81\xc1\x45\x23\x01\x00\x8b\x47\x08"
          "\xc3"),
     .before = 13, .backward = true, .is_32bit = true,
     .expect = {READ(ESP, 4), BACK_READ(EDI + 8, 4)}},
};

int main(void)
{
    return x86_cases_run(cases, ARRAY_LENGTH(cases));
}
