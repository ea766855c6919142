// fs.watch (inotify), streams, the thread pool, and errors of the file system.
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pipeline } = require('node:stream/promises');

(async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'files-'));
  const events = [];
  const watcher = fs.watch(directory, (event, name) => events.push(`${event} ${name}`));
  await new Promise((resolve) => setTimeout(resolve, 50));
  fs.writeFileSync(path.join(directory, 'a'), 'x'.repeat(1_000_000));
  await pipeline(
    fs.createReadStream(path.join(directory, 'a')),
    fs.createWriteStream(path.join(directory, 'b')),
  );
  console.log((await fs.promises.readFile(path.join(directory, 'b'))).length);
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      fs.promises.writeFile(path.join(directory, `f${index}`), String(index)),
    ),
  );
  console.log((await fs.promises.readdir(directory)).length);
  const { birthtimeMs, ino, size } = fs.statSync(path.join(directory, 'a'), { bigint: true });
  console.log(birthtimeMs > 0n, ino > 0n, size);
  fs.copyFileSync(path.join(directory, 'a'), path.join(directory, 'c'));
  fs.cpSync(directory, `${directory}-copy`, { recursive: true });
  console.log(fs.readdirSync(`${directory}-copy`, { recursive: true }).sort().join());
  fs.rmSync(`${directory}-copy`, { recursive: true });
  console.log((await Array.fromAsync(fs.promises.glob(path.join(directory, 'f1*')))).length);
  fs.unlinkSync(path.join(directory, 'a'));
  await new Promise((resolve) => setTimeout(resolve, 50));
  watcher.close();
  console.log(new Set(events).has('rename a'), new Set(events).has('rename b'));
  for (const action of [
    () => fs.readFileSync('/nothing'),
    () => fs.mkdirSync('/proc/x'),
    () => fs.readdirSync('/etc/passwd'),
  ]) {
    try {
      action();
    } catch (error) {
      console.log(error.message);
    }
  }
  fs.rmSync(directory, { recursive: true });
})();
