import { ImageError } from './image-error.ts';

/** The name of an image as registries and container runtimes have it. */
export interface Reference {
  /** `host/path`, in full. */
  readonly repository: string;
  readonly tag: string;
}

/** The grammar of github.com/distribution/reference: a host, path components, a tag. */
const label = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const host = `(?:localhost|${label}(?:\\.${label})+|${label}(?=:\\d))(?::\\d{1,5})?`;
const component = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const grammar = new RegExp(
  `^(?:(?<host>${host})/)?(?<path>${component}(?:/${component})*)(?::(?<tag>[\\w][\\w.-]{0,127}))?$`,
);

/**
 * Reads the name of an image. One without a host is one of docker.io, and without a tag `latest`, as everywhere else.
 *
 * @throws {ImageError} EREFERENCE
 */
export function parseReference(text: string): Reference {
  const { host = 'docker.io', path, tag = 'latest' } = grammar.exec(text)?.groups ?? {};
  if (path === undefined || path.length > 255) {
    throw new ImageError(
      'EREFERENCE',
      `"${text}" is not the name of an image: it is [HOST/]PATH[:TAG] with a path in lower case, as in registry.example/fedora-disk:42`,
    );
  }
  const isOfficial = host === 'docker.io' && !path.includes('/');
  return { repository: `${host}/${isOfficial ? 'library/' : ''}${path}`, tag };
}

export function referenceText({ repository, tag }: Reference): string {
  return `${repository}:${tag}`;
}
