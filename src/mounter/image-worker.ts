import { serveJobs } from '../kernel/serve-jobs.ts';
import { openFromImage } from './image-job.ts';
import type { ImageJobResult, ImageJobs } from './image-run.ts';
import { partsOf } from './thread-error.ts';

/** The body of a thread of ImageThreads: answers for those of the jobs that it has come to. */
serveJobs(({ jobs, next }: ImageJobs): ImageJobResult[] => {
  const results: ImageJobResult[] = [];
  for (;;) {
    const job = jobs[Atomics.add(next, 0, 1)];
    if (job === undefined) return results;
    try {
      const { file, ...opened } = openFromImage(job);
      results.push({ ...opened, file: file.take() });
    } catch (error) {
      results.push({ error: partsOf(error) });
    }
  }
});
