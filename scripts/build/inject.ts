import { inject as injectResource } from 'postject';

/** The fuse that Node.js looks at to know that it holds an application (`src/node_sea_bin.cc`). */
const sentinelFuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/** Puts the blob into the program. postject tells of the file's notes on standard output; that is of no use here. */
export async function inject(program: string, blob: Buffer): Promise<void> {
  const log = console.log;
  console.log = () => {};
  try {
    await injectResource(program, 'NODE_SEA_BLOB', blob, { sentinelFuse });
  } finally {
    console.log = log;
  }
}
