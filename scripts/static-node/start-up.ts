/** Where the program begins, in place of glibc's `_start`, to which it goes on. */
export const startUpSymbol = 'start_up';

/** An entry of the table: address, length and advice, 64 bits each; an address of 0 ends it. */
export const adviceSize = 24;

/** Entries that the table has room for, with the one that ends it. */
export const mostAdvice = 1024;

/** madvise(2) on x86-64. */
const madvise = 28;

/**
 * Assembly that tells the kernel, before anything else runs, which pages of the file are needed, and that no others
 * are to be read along (madvise(2)). What it says stands in a table, which is empty after the link.
 *
 * Without it, each page that is not in memory is read with as much around it as the disk's `read_ahead_kb` says. That
 * is 128 on most machines, but 4,096 and more on some: then a start in a memory cgroup of 40 MB reads gigabytes.
 *
 * At entry rdx holds a function for atexit(3) (x86-64 psABI, "Process Initialization"); the kernel changes rcx and r11.
 */
export function startUp(table: string): string {
  return `.section ${table},"a",@progbits
.balign 8
.Ladvice: .zero ${mostAdvice * adviceSize}
.text
.globl ${startUpSymbol}
.type ${startUpSymbol}, @function
${startUpSymbol}:
  movq %rdx, %r12
  leaq .Ladvice(%rip), %rbx
1:
  movq (%rbx), %rdi
  testq %rdi, %rdi
  jz 2f
  movq 8(%rbx), %rsi
  movq 16(%rbx), %rdx
  movl $${madvise}, %eax
  syscall
  addq $${adviceSize}, %rbx
  jmp 1b
2:
  movq %r12, %rdx
  jmp _start`;
}
