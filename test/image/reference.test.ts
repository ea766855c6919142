import t from 'tap';
import { parseReference, referenceText } from '../../scripts/image/reference.ts';

t.test('names of images', async (t) => {
  for (const [text, full] of [
    ['fedora', 'docker.io/library/fedora:latest'],
    ['fedora:42', 'docker.io/library/fedora:42'],
    ['team/fedora', 'docker.io/team/fedora:latest'],
    ['docker.io/fedora', 'docker.io/library/fedora:latest'],
    ['registry.example/fedora-disk:42', 'registry.example/fedora-disk:42'],
    ['registry.example:5000/a/b__c/d.e:V1_2-3.4', 'registry.example:5000/a/b__c/d.e:V1_2-3.4'],
    ['localhost/disk', 'localhost/disk:latest'],
    ['localhost:5000/disk', 'localhost:5000/disk:latest'],
    ['registry:5000/disk', 'registry:5000/disk:latest'],
    ['10.0.0.1:5000/disk', '10.0.0.1:5000/disk:latest'],
    ['disk:5000', 'docker.io/library/disk:5000'],
  ] as const) {
    t.equal(referenceText(parseReference(text)), full, text);
  }
});

t.test('what is none', async (t) => {
  for (const text of [
    '',
    'Fedora',
    'fedora:',
    'fedora:.42',
    'fedora:42:43',
    '/fedora',
    'fedora/',
    'a//b',
    '-fedora',
    'fedora-',
    'a..b',
    'a___b',
    'registry.example/Fedora',
    'registry.example:port/fedora',
    '-registry.example/fedora',
    'fedora disk',
    'fedora\n',
    'fedora:42\n',
    '../fedora',
    `fedora@sha256:${'0'.repeat(64)}`,
    `fedora:${'4'.repeat(129)}`,
    'f'.repeat(256),
  ]) {
    t.throws(() => parseReference(text), { code: 'EREFERENCE' }, text);
  }
});
