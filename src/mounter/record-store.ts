import {
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Descriptor } from '../kernel/descriptor.ts';
import { lock, tryLock } from '../kernel/file-lock.ts';
import { statx } from '../kernel/statx.ts';
import { hasCode } from '../kernel/syscall-error.ts';
import { fileTypeName } from './file-type.ts';
import { type MountRecord, parseRecord } from './mount-record.ts';
import { MounterError, messageOf } from './mounter-error.ts';

const suffix = '.json';
const lockSuffix = '.lock';
const newSuffix = '.new';

/** Milliseconds after which a run says what it waits for. */
const patience = 2000;

/** The records of a node: one file per virtual machine, written whole or not at all. */
export class RecordStore {
  readonly directory: string;
  readonly #warn: (message: string) => void;

  /** @param warn is told of records that were set aside, and of waiting */
  constructor(directory: string, warn: (message: string) => void) {
    this.directory = directory;
    this.#warn = warn;
  }

  /**
   * The record of a virtual machine. One that cannot be understood is set aside under another name, with a
   * warning: what it told of is found by looking.
   *
   * @throws MounterError ERECORD where it is there and cannot be read
   */
  load(uid: string): MountRecord | undefined {
    const path = this.#path(uid);
    let text: string;
    try {
      text = readRegularFile(path);
    } catch (cause) {
      if (hasCode(cause, 'ENOENT', 'ENOTDIR')) return undefined;
      throw new MounterError('ERECORD', `cannot read the record: ${messageOf(cause)}`, { cause });
    }
    try {
      const record = parseRecord(text);
      if (record.uid !== uid) throw new Error(`it is of ${record.uid}`);
      return record;
    } catch (error) {
      this.#setAside(path, messageOf(error));
      return undefined;
    }
  }

  /** @throws MounterError ERECORD; then the record that was there is as it was */
  save(record: MountRecord): void {
    const path = this.#path(record.uid);
    const temporary = this.#temporary(record.uid);
    try {
      writeFileSync(temporary, `${JSON.stringify(record, undefined, 2)}\n`, {
        mode: 0o600,
        flush: true,
      });
      renameSync(temporary, path);
      this.#sync();
    } catch (cause) {
      if (!hasCode(cause, 'EROFS')) unlinkIfThere(temporary);
      throw new MounterError('ERECORD', `cannot write the record ${path}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  /** @throws MounterError ERECORD */
  remove(uid: string): void {
    const path = this.#path(uid);
    try {
      unlinkIfThere(this.#temporary(uid));
      unlinkIfThere(path);
      this.#sync();
    } catch (cause) {
      if (hasCode(cause, 'ENOENT', 'ENOTDIR')) return;
      throw new MounterError('ERECORD', `cannot remove the record ${path}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  /** The uids of which there is a record. */
  uids(): string[] {
    return this.#names()
      .filter((name) => name.endsWith(suffix))
      .map((name) => name.slice(0, -suffix.length));
  }

  /** Removes what killed runs have left: locks that nobody has, and files that were not finished. */
  sweep(): void {
    const left = /^(.+)(?:\.lock|\.json\.new)$/;
    const uids = new Set(this.#names().flatMap((name) => left.exec(name)?.[1] ?? []));
    for (const uid of uids) {
      if (this.#names().includes(`${uid}${suffix}`)) continue;
      const path = join(this.directory, `${uid}${lockSuffix}`);
      using file = this.#openLock(path);
      if (tryLock(file, path)) this.#held(file, path, uid)[Symbol.dispose]();
    }
  }

  /**
   * Waits until no other run works on the virtual machine; ends with the disposal.
   *
   * @throws MounterError ERECORD where the lock file cannot be made
   */
  async lock(uid: string, signal: AbortSignal | undefined): Promise<Disposable> {
    const path = join(this.directory, `${uid}${lockSuffix}`);
    const waiting = () => this.#warn(`waiting for another run on this virtual machine (${path})`);
    for (;;) {
      const file = this.#openLock(path);
      try {
        await lock(file, path, { signal, patience, waiting });
        if (isStillThere(file, path)) return this.#held(file, path, uid);
      } catch (error) {
        file[Symbol.dispose]();
        throw error;
      }
      file[Symbol.dispose]();
    }
  }

  /** A lock file without a record is removed while it is locked, so that none are left behind. */
  #held(file: Descriptor, path: string, uid: string): Disposable {
    return {
      [Symbol.dispose]: () => {
        try {
          if (statSync(this.#path(uid), { throwIfNoEntry: false }) === undefined) {
            unlinkIfThere(this.#temporary(uid));
            unlinkIfThere(path);
          }
        } finally {
          file[Symbol.dispose]();
        }
      },
    };
  }

  #openLock(path: string): Descriptor {
    const open = () => Descriptor.open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      try {
        return open();
      } catch (error) {
        if (!hasCode(error, 'ENOENT')) throw error;
        this.#makeDirectory();
        return open();
      }
    } catch (cause) {
      throw new MounterError('ERECORD', `cannot make the lock ${path}: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  #makeDirectory(): void {
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
  }

  #setAside(path: string, why: string): void {
    const aside = `${path}.broken-${Date.now()}`;
    try {
      renameSync(path, aside);
    } catch (cause) {
      throw new MounterError(
        'ERECORD',
        `the record ${path} cannot be understood (${why}) nor set aside: ${messageOf(cause)}`,
        { cause },
      );
    }
    this.#warn(`the record ${path} cannot be understood (${why}): set aside as ${aside}`);
  }

  #names(): string[] {
    try {
      return readdirSync(this.directory);
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
      throw error;
    }
  }

  #path(uid: string): string {
    return join(this.directory, `${uid}${suffix}`);
  }

  /** One name for each virtual machine: whoever has its lock writes over what a killed run has left. */
  #temporary(uid: string): string {
    return `${this.#path(uid)}${newSuffix}`;
  }

  /** fsync(2) of the directory: a new or removed name is on disk after it. */
  #sync(): void {
    const fd = openSync(this.directory, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  }
}

/** What is there instead of a file must not make anybody wait (fifo(7)), nor lead elsewhere. */
function readRegularFile(path: string): string {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  using file = Descriptor.open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  const { mode } = statx(file.number);
  if ((mode & constants.S_IFMT) !== constants.S_IFREG) {
    throw new Error(`${path} is ${fileTypeName(mode)}`);
  }
  return readFileSync(file.number, 'utf8');
}

function isStillThere(file: Descriptor, path: string): boolean {
  const now = statSync(path, { throwIfNoEntry: false });
  const locked = statSync(file.path);
  return now !== undefined && now.ino === locked.ino && now.dev === locked.dev;
}

/** What `rmSync` says of a failure has no errno(3). */
function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR')) throw error;
  }
}
