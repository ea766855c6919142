/** Flags of open(2) that `fs.constants` lacks. The numbers are those of x86-64 and arm64 alike. */
export const O_PATH = 0o10000000;
export const O_CLOEXEC = 0o2000000;
