/** Numbers of elf(5) and of the x86-64 psABI, by the names that they have there. */

export const ELFCLASS64 = 2;
export const ELFDATA2LSB = 1;
export const ET_EXEC = 2;
export const EM_X86_64 = 62;

export const PT_LOAD = 1;
export const PT_DYNAMIC = 2;
export const PT_INTERP = 3;
export const PT_TLS = 7;
export const PT_GNU_EH_FRAME = 0x6474e550;
export const PT_GNU_STACK = 0x6474e551;
export const PT_GNU_RELRO = 0x6474e552;
export const PF_X = 1;
export const PF_W = 2;

export const DT_INIT = 12;
export const DT_FINI = 13;

export const SHT_SYMTAB = 2;
export const SHT_RELA = 4;
export const SHT_NOTE = 7;
export const SHT_NOBITS = 8;
export const SHF_WRITE = 1;
export const SHF_ALLOC = 2;
export const SHF_EXECINSTR = 4;
export const SHF_TLS = 0x400;
export const SHN_UNDEF = 0;
export const SHN_LORESERVE = 0xff00;

export const STB_LOCAL = 0;
export const STB_GLOBAL = 1;
export const STB_WEAK = 2;
export const STT_FUNC = 2;
export const STT_GNU_IFUNC = 10;

export const R_X86_64_64 = 1;
export const R_X86_64_PC32 = 2;
export const R_X86_64_PLT32 = 4;
export const R_X86_64_COPY = 5;
export const R_X86_64_GLOB_DAT = 6;
export const R_X86_64_JUMP_SLOT = 7;
export const R_X86_64_TPOFF64 = 18;
export const R_X86_64_IRELATIVE = 37;
