// Steps of requests: the statuses that they may end in, and `Server-Timing` (W3C Server Timing).
import type { ApiDefinition } from '../model/types/definition.ts'
import type { Step } from '../operations/calls/context.ts'

/** Says which statuses a step may end in; docs/architecture.md lists the steps by the names of their functions. */
export function step(run: Step, ...statuses: readonly number[]): Step {
  return Object.assign(run, { statuses })
}

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
