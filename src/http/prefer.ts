// `Prefer` and `Preference-Applied` (RFC 7240): its preference `return`, and our `count`, `tx`, `max-affected`
// and `resolution`.
import { splitList } from './message.ts'

/** What a `Prefer` header asks for (RFC 7240). */
export interface Preferences {
  readonly return?: 'minimal' | 'representation'
  readonly count?: 'exact' | 'estimated' | 'none'
  /** Whether a write is only tried: nothing of it is kept. */
  readonly tx?: 'rollback'
  /** The most items that a write by filter may affect; `NaN` for what is no number. */
  readonly 'max-affected'?: number
  /** What to do with the items of an array that exist, in lower case; `''` for no value. */
  readonly resolution?: string
}

const RETURNS = ['minimal', 'representation'] as const
const COUNTS = ['exact', 'estimated', 'none'] as const

/** Parses a `Prefer` header. Unknown preferences and values are ignored, as §2 says. */
export function parsePrefer(text: string | undefined): Preferences {
  if (text === undefined) return {}
  const values = new Map<string, string>()
  for (const property of splitList(text)) {
    const [preference = ''] = property.split(';', 1)
    const [name = '', value = ''] = preference.split('=', 2)
    const key = name.trim().toLowerCase()
    const bare = value.trim().replace(/^"(.*)"$/, '$1')
    // Of a repeated preference the first one applies (§2).
    if (!values.has(key)) values.set(key, bare.toLowerCase())
  }
  const form = RETURNS.find(known => known === values.get('return'))
  const count = COUNTS.find(known => known === values.get('count'))
  const most = values.get('max-affected')
  const resolution = values.get('resolution')
  return {
    ...(form && { return: form }),
    ...(count && { count }),
    ...(values.get('tx') === 'rollback' && { tx: 'rollback' }),
    ...(most !== undefined && { 'max-affected': parseMaxAffected(most) }),
    ...(resolution !== undefined && { resolution }),
  }
}

/** Parses the maximum of items that a write may affect; `NaN` if it is not a number. */
export function parseMaxAffected(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
}

/** Prints the applied preferences, for `Preference-Applied` (§3). */
export function printPreferences(preferences: Preferences): string {
  return Object.entries(preferences)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')
}
