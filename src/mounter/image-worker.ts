import { parentPort } from 'node:worker_threads';
import { type ImageJob, openFromImage } from './image-job.ts';
import type { ImageJobResult } from './image-threads.ts';
import { partsOf } from './thread-error.ts';

/** The body of a thread of ImageThreads. */
parentPort?.on('message', (job: ImageJob) => {
  let result: ImageJobResult;
  try {
    const { file, path, disk } = openFromImage(job);
    result = { file: file.take(), path, disk };
  } catch (error) {
    result = { error: partsOf(error) };
  }
  parentPort?.postMessage(result);
});
