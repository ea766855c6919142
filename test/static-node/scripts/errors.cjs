// Exceptions through native frames, a stack overflow, garbage collection under pressure, rejections and exit codes.
const { spawnSync } = require('node:child_process');
const vm = require('node:vm');

const depth = (n) => {
  try {
    return depth(n + 1);
  } catch (error) {
    return error.constructor.name;
  }
};
console.log(depth(0));
try {
  JSON.parse('{"a":');
} catch (error) {
  console.log(error.message);
}
try {
  [3, 1, 2].sort(() => {
    throw new Error('in a callback');
  });
} catch (error) {
  console.log(error.message);
}
try {
  new RegExp('('.repeat(depth(0).length));
} catch (error) {
  console.log(error.message);
}
try {
  vm.runInNewContext('for (;;);', {}, { timeout: 20 });
} catch (error) {
  console.log(error.code);
}
let kept = [];
for (let count = 0; count < 300; count += 1) {
  kept.push(Buffer.alloc(100_000, count));
  if (kept.length > 50) kept = [];
}
console.log(kept.length);
for (const script of [
  "throw new Error('uncaught')",
  "Promise.reject(new Error('rejected'))",
  'process.exit(9)',
  "process.on('exit', () => console.log('bye'))",
]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', script], {
    encoding: 'utf8',
  });
  console.log(status, stdout, /Error: (uncaught|rejected)/.exec(stderr)?.[0]);
}
const { status, stderr } = spawnSync(
  process.execPath,
  ['--max-old-space-size=20', '-e', 'const a = []; for (;;) a.push(new Array(1000).fill({}))'],
  { encoding: 'utf8' },
);
console.log(status, /heap out of memory/.test(stderr));
