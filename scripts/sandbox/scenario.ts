import type { NodeDirectories, PodDirectories } from '../demo/node-directories.ts';

/** What a scenario works with. */
export interface Stage {
  readonly node: NodeDirectories;
  /** A directory with the program. */
  readonly binaries: string;
  /** What is made is undone when the stage is disposed of. */
  readonly cleanup: AsyncDisposableStack;
  /** Runs the mounter's command with a VMI. */
  readonly mounter: (vmi: object, verb: string) => void;
}

/** What is there when the scenario is set up. */
export interface Scene {
  /** `vmi.yaml` */
  readonly vmi: object;
  /** Other versions of it, by the name of their file. */
  readonly otherVmis?: Readonly<Record<string, object>>;
  /** The launcher pod. */
  readonly pod: PodDirectories;
  /** Commands of the scene, for the shell: the name, and the words that it stands for. */
  readonly commands?: Readonly<Record<string, readonly string[]>>;
  /** Is called with what the command `kubelet` was given, in place of the node's kubelet. */
  readonly kubelet?: (argument: string) => Promise<void>;
}

/** Something that is the case on a node. */
export interface Scenario {
  /** What it is; where something is broken, as one who is called out sees it. */
  readonly symptom: string;
  readonly setUp: (stage: Stage) => Promise<Scene>;
}
