declare module 'postject' {
  /** Writes `data` as a note named `resource` into the ELF file, and sets the byte after the fuse. */
  export function inject(
    file: string,
    resource: string,
    data: Buffer,
    options: { sentinelFuse: string },
  ): Promise<void>;
}
