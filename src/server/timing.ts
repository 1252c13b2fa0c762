// `Server-Timing` (W3C Server Timing): how long the steps took, where the api states it.
import type { ApiDefinition } from '../model/definition.ts'
import type { Step } from '../operations/context.ts'

/** Notes the time of a step, where the api states it. */
export function timed(api: ApiDefinition, name: string, step: Step): Step {
  if (!api.serverTiming) return step
  return async context => {
    const started = performance.now()
    try {
      await step(context)
    } finally {
      context.timings ??= []
      context.timings.push(`${name};dur=${(performance.now() - started).toFixed(2)}`)
    }
  }
}

/** The steps, as one step with one time where the api states it. */
export function timedTogether(api: ApiDefinition, name: string, steps: readonly Step[]): Step[] {
  if (!api.serverTiming) return [...steps]
  const all: Step = async context => {
    for (const step of steps) await step(context)
  }
  return [timed(api, name, all)]
}
