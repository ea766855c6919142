/** Prints a line for each thing that was done, as it happens, and remembers what was not as it should be. */
export class Report {
  readonly #start = performance.now();
  readonly #differences: string[] = [];
  #checks = 0;

  chapter(title: string): void {
    console.log(`\n${title}`);
  }

  /** What a command printed. */
  text(text: string): void {
    for (const line of text.trimEnd().split('\n')) console.log(`           ${line}`);
  }

  step(line: string): void {
    const seconds = ((performance.now() - this.#start) / 1000).toFixed(2);
    console.log(`${seconds.padStart(7)} s  ${line}`);
  }

  /** A step whose outcome can be wrong. */
  check(line: string, isRight: boolean, saw: string): void {
    this.#checks += 1;
    this.step(`${isRight ? 'ok   ' : 'WRONG'} ${line}${saw === '' ? '' : `: ${saw}`}`);
    if (!isRight) this.#differences.push(`${line}: ${saw}`);
  }

  /** Says what was seen; false where anything differed. */
  summary(): boolean {
    const wrong = this.#differences.length;
    if (wrong === 0) {
      console.log(`\nAll ${this.#checks} checks were right.`);
      return true;
    }
    console.log(`\n${wrong} of ${this.#checks} checks were wrong:`);
    for (const difference of this.#differences) console.log(`  ${difference}`);
    return false;
  }
}
