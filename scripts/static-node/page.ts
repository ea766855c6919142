/** Bytes in a page of x86-64, which is what a program is mapped by. */
export const page = 4096;
