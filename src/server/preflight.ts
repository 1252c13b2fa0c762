// What a browser asks before it sends a request to another origin (Fetch standard, "CORS-preflight fetch").
import type { HeaderList } from '../http/message.ts'
import type { ApiDefinition } from '../model/definition.ts'
import type { Step } from '../operations/context.ts'
import { respond } from './respond.ts'

/** Compiles the step that answers a preflight with headers alone; another OPTIONS goes on. */
export function preflight(api: ApiDefinition, methods: HeaderList): Step {
  const headers = [...methods, ...api.cors.preflight]
  const answer: readonly Step[] = [
    context => {
      context.counted = true
      context.result = { status: 204, headers: headers.slice(), value: undefined }
    },
    respond,
  ]
  return context => {
    const { origin, 'access-control-request-method': requested } = context.request.headers
    if (origin === undefined || requested === undefined) return
    context.steps = answer
    context.position = 0
  }
}
