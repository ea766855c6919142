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
