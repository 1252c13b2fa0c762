// zod 4.6, or a message that says so: older ones fail on their first use, with messages that help nobody.
import { z } from 'zod'

/** @throws TypeError for an older zod. */
export function requireZod(): void {
  const core: { readonly version?: typeof z.core.version } | undefined = z.core
  const { major = 3, minor = 0, patch = 0 } = core?.version ?? {}
  if (major > 4 || (major === 4 && minor >= 6)) return
  const found = core?.version ? `${major}.${minor}.${patch}` : 'an older one'
  throw new TypeError(
    `rest-conventions needs zod 4.6 or newer; this project has ${found}. Run npm install zod@latest.`,
  )
}
