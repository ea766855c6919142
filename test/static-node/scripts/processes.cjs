// Child processes, pipes, signals in both directions, and exit codes.
const { spawn, spawnSync, execFileSync, fork } = require('node:child_process');

if (process.argv[2] === 'child') {
  process.on('message', (message) => {
    process.send({ twice: message * 2 });
    process.disconnect();
  });
} else {
  console.log(
    execFileSync('sh', ['-c', 'cat; echo $WORD'], {
      input: 'in ',
      encoding: 'utf8',
      env: { ...process.env, WORD: 'word' },
    }),
  );
  console.log(
    spawnSync('sh', ['-c', 'exit 7']).status,
    spawnSync('sh', ['-c', 'kill -9 $$']).signal,
    spawnSync('/nothing').error.code,
    execFileSync('pwd', { cwd: '/usr', encoding: 'utf8' }),
  );
  const child = fork(__filename, ['child']);
  child.on('message', (message) => console.log(message));
  child.send(21);
  child.on('exit', (code) => {
    console.log('exit', code);
    process.once('SIGUSR2', () => {
      console.log('SIGUSR2');
      const sleeper = spawn('sleep', ['60']);
      sleeper.on('exit', (_, signal) => console.log(signal));
      sleeper.on('spawn', () => sleeper.kill('SIGTERM'));
    });
    process.kill(process.pid, 'SIGUSR2');
  });
}
