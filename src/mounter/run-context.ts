import type { Host } from './host.ts';
import type { RecordStore } from './record-store.ts';

/** Something that was done, or is worth knowing, while a verb runs. */
export interface MounterEvent {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  /** uid of the pod that it is about. */
  readonly pod?: string;
  /** Name of the volume that it is about. */
  readonly volume?: string;
}

/** What every verb works with. */
export interface RunContext {
  readonly host: Host;
  readonly records: RecordStore;
  readonly tell: (event: MounterEvent) => void;
}
