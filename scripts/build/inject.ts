import { inject as injectResource } from 'postject';

/** The fuse that Node.js looks at to know that it holds an application (`src/node_sea_bin.cc`). */
const sentinelFuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/** What postject says of every ELF file that has notes without a section for them; it does no harm. */
const harmless = /^warning: Can't find string offset for section name '\.note/;

/** Puts the blob into the program. postject writes to the console; what is of no use here is left out. */
export async function inject(program: string, blob: Buffer): Promise<void> {
  const { log, warn, error } = console;
  const unlessHarmless = (write: typeof warn) => (text: unknown) => {
    if (!harmless.test(String(text))) write(text);
  };
  console.log = () => {};
  console.warn = unlessHarmless(warn);
  console.error = unlessHarmless(error);
  try {
    await injectResource(program, 'NODE_SEA_BLOB', blob, { sentinelFuse });
  } finally {
    Object.assign(console, { log, warn, error });
  }
}
