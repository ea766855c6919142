/** Characters that a line of the picture has room for. */
export const columns = 118;

const [characterWidth, lineHeight, margin] = [7.8, 17, 16];

/**
 * What a command printed, as a picture of a terminal (SVG): one text element for each line, cut at {@link columns}.
 *
 * @param command is shown above it, after a prompt
 */
export function terminalPicture(command: string, output: string): string {
  const lines = [`$ ${command}`, ...output.trimEnd().split('\n')].map(cut);
  const width = Math.ceil(columns * characterWidth + 2 * margin);
  const height = lines.length * lineHeight + 2 * margin;
  const texts = lines.flatMap((line, index) =>
    line === '' ? [] : [text(line, margin + (index + 0.75) * lineHeight)],
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(command)}">
<style>
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d0d7de; white-space: pre; }
.title { fill: #ffffff; font-weight: bold; }
.time { fill: #8b949e; }
.ok { fill: #56d364; }
.wrong { fill: #ff7b72; }
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${texts.join('\n')}
</svg>
`;
}

function cut(line: string): string {
  const trimmed = line.trimEnd();
  return trimmed.length > columns ? `${trimmed.slice(0, columns - 1)}…` : trimmed;
}

function text(line: string, y: number): string {
  const length = `textLength="${(line.length * characterWidth).toFixed(1)}"`;
  return `<text x="${margin}" y="${y}" ${length} xml:space="preserve">${spans(line)}</text>`;
}

/** A step of the demo is its time, whether it was right, and what it is; what is not indented is a title. */
function spans(line: string): string {
  const step = /^( *[\d.]+ s {2})(ok {4}|WRONG )?(.*)$/.exec(line);
  if (step === null) {
    return /^[A-Z$]/.test(line) ? span('title', line) : escaped(line);
  }
  const [, time = '', outcome = '', rest = ''] = step;
  const mark = outcome === '' ? '' : span(outcome.startsWith('ok') ? 'ok' : 'wrong', outcome);
  return `${span('time', time)}${mark}${escaped(rest)}`;
}

function span(name: string, content: string): string {
  return `<tspan class="${name}">${escaped(content)}</tspan>`;
}

function escaped(content: string): string {
  return content
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
