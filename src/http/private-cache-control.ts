// `Cache-Control` of answers to clients with credentials.
import { splitList } from './message.ts'

/** Builds the `Cache-Control` for clients with credentials: no shared cache may keep the answer (RFC 9111 §5.2.2). */
export function toPrivateCacheControl(cacheControl: string): string {
  const others = splitList(cacheControl).filter(
    directive => !/^(?:public|private|s-maxage)(?:=|$)/i.test(directive),
  )
  return ['private', ...others].join(', ')
}
