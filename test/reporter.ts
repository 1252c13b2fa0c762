// At the end of a run: how many tests were skipped, and what they need. A file that skips says so by `Skipped: …`.
import type { UserConsoleLog } from 'vitest'
import type { Reporter, TestModule } from 'vitest/node'

export default class SkippedReporter implements Reporter {
  readonly #reasons = new Set<string>()

  onUserConsoleLog({ content }: UserConsoleLog): void {
    for (const line of content.split('\n'))
      if (line.startsWith('Skipped: ')) this.#reasons.add(line.slice('Skipped: '.length))
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap(module => [...module.children.allTests('skipped')])
    if (skipped.length === 0) return
    const files = [...new Set(skipped.map(({ module }) => module.relativeModuleId))]
    console.log(`\nSkipped ${skipped.length} tests, of ${files.join(', ')}:`)
    for (const reason of this.#reasons) console.log(`- ${reason}`)
  }
}
