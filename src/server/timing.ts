// `Server-Timing` (W3C Server Timing): how long the steps took, where the api states it.
import type { ApiDefinition } from '../model/definition.ts'
import type { Step } from '../operations/context.ts'

/** Measures steps together, where the api states it: then they are one step. */
export function timed(api: ApiDefinition, name: string, ...steps: readonly Step[]): Step[] {
  if (!api.serverTiming) return [...steps]
  const measured: Step = async context => {
    const started = performance.now()
    try {
      for (const step of steps) await step(context)
    } finally {
      const duration = performance.now() - started
      context.timings = [...(context.timings ?? []), `${name};dur=${duration.toFixed(2)}`]
    }
  }
  return [measured]
}
