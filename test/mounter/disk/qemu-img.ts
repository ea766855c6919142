import { spawnSync } from 'node:child_process';

/** What qemu-img 7.2 now and then says of a new LUKS key, whatever its options: it has measured its own CPU time. */
const mismeasured = 'Unable to get accurate CPU usage';

/** How often it is let measure again. */
const attempts = 8;

/** @throws where it fails, for any other reason at once */
export function qemuImg(...argv: string[]): string {
  for (let attempt = 1; ; attempt += 1) {
    const { status, stdout, stderr } = spawnSync('qemu-img', argv, { encoding: 'utf8' });
    if (status === 0) return stdout;
    if (attempt === attempts || !stderr.includes(mismeasured)) {
      throw new Error(`qemu-img ${argv.join(' ')}: ${stderr}`);
    }
  }
}

/** What `qemu-img info --output=json` says, the format probed; undefined where it cannot open the file. */
export interface ImageInfo {
  readonly format: string;
  readonly 'virtual-size': number;
  readonly 'actual-size': number;
  readonly 'cluster-size'?: number;
  readonly 'backing-filename'?: string;
  readonly snapshots?: readonly unknown[];
  readonly 'format-specific'?: {
    readonly data: {
      readonly compat?: string;
      readonly 'compression-type'?: string;
      readonly 'lazy-refcounts'?: boolean;
      readonly 'refcount-bits'?: number;
      readonly 'extended-l2'?: boolean;
      readonly bitmaps?: readonly unknown[];
    };
  };
}

export function imageInfo(path: string): ImageInfo | undefined {
  const { status, stdout } = spawnSync('qemu-img', ['info', '--output=json', path], {
    encoding: 'utf8',
  });
  return status === 0 ? (JSON.parse(stdout) as ImageInfo) : undefined;
}
