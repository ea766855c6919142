import { ManifestError } from '../../src/kubevirt/manifest-error.ts';
import { readVirtualMachineInstances } from '../../src/kubevirt/read-virtual-machine-instances.ts';

export const uid = '6f1d2c3b-0a4e-4d5c-9b8a-7e6f5d4c3b2a';

/** A VirtualMachineInstance as an object; with the name goes a uid of its own. */
export function vmi(
  parts: { spec?: unknown; status?: unknown; metadata?: object } = {},
  name = 'vm',
) {
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { name, namespace: 'ns', uid: `${uid}-${name}`, ...parts.metadata },
    spec: parts.spec ?? {},
    status: parts.status ?? {},
  };
}

/** The error of reading it; there has to be one. */
export function refusal(manifest: unknown): ManifestError {
  const text = typeof manifest === 'string' ? manifest : JSON.stringify(manifest);
  try {
    readVirtualMachineInstances(text, 'vm.yaml');
  } catch (error) {
    if (error instanceof ManifestError) return error;
    throw error;
  }
  throw new Error('it was read');
}
