// Worker threads with messages, shared memory, an error that crosses, and a worker that is ended.
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { once } = require('node:events');

if (isMainThread) {
  (async () => {
    const shared = new Int32Array(new SharedArrayBuffer(4));
    const workers = Array.from(
      { length: 4 },
      (_, id) => new Worker(__filename, { workerData: { id, shared } }),
    );
    const answers = await Promise.all(
      workers.map(async (worker) => (await once(worker, 'message'))[0]),
    );
    console.log(answers.sort(), shared[0]);
    const failing = new Worker(__filename, { workerData: { id: -1 } });
    const [error] = await once(failing, 'error');
    console.log(error.constructor.name, error.message);
    const endless = new Worker('for (;;);', { eval: true });
    await once(endless, 'online');
    console.log(await endless.terminate());
  })();
} else if (workerData.id < 0) {
  throw new RangeError('from a worker');
} else {
  for (let count = 0; count < 1000; count += 1) Atomics.add(workerData.shared, 0, 1);
  parentPort.postMessage(
    `worker ${workerData.id} ${JSON.stringify(structuredClone(new Map([[1, { a: 2n.toString() }]]).size))}`,
  );
}
