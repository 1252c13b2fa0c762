// Ids and versions that stores make: counted integers, UUIDv7 (RFC 9562 §5.7) in strict order, and
// opaque versions.
import { randomBytes } from 'node:crypto'
import type { Item } from '../base/values.ts'
import { printRelationId } from './relation-ids.ts'
import type { Id, Identity } from './store.ts'

const POOL_SIZE = 4096
/** Random bytes in advance, and how many of them are used. */
let pool = Buffer.alloc(0)
/** See `pool`. */
let used = 0

/** Random bytes cut from a pool: one call of the system for hundreds of versions. */
function random(length: number): Buffer {
  if (used + length > pool.length) {
    pool = randomBytes(POOL_SIZE)
    used = 0
  }
  used += length
  return pool.subarray(used - length, used)
}

/** Makes a version never used before: 96 random bits as 16 characters of base64url. */
export function createVersion(): string {
  return random(12).toString('base64url')
}

/** Finds the id that a client has chosen, by itself or by its parts; `undefined` without one, or if ids are not strings. */
export function chosenId(identity: Identity, values: Item): string | undefined {
  if (identity.parts) return printRelationId(identity.parts, values)
  const chosen = identity.kind === 'text' ? values[identity.name] : undefined
  return typeof chosen === 'string' ? chosen : undefined
}

/** Makes the id after the last one: the next whole number, from 1, or a UUIDv7. */
export function nextId(identity: Identity, last: Id | undefined, now: number): Id {
  if (identity.kind === 'integer') return (typeof last === 'number' ? last : 0) + 1
  return nextUuid(typeof last === 'string' ? last : undefined, now)
}

/** From here on no greater UUID may exist: such ids, of other programs, do not count. */
export const LAST_UUID = 'ffffffff-ffff-0000-0000-000000000000'

/** Only in lower case: ids are compared as texts. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Makes the next UUIDv7, in lower case: of this millisecond if it is later than that of the last one, else
 * the last one plus a random step (RFC 9562 §6.2, method 2). It is always greater than the last,
 * whatever the clock does. A last id that is not a UUID is ignored.
 */
export function nextUuid(last: string | undefined, now: number): string {
  const known = last !== undefined && UUID.test(last) && last < LAST_UUID ? last : undefined
  const lastTime =
    known === undefined ? -1 : Number.parseInt(known.slice(0, 8) + known.slice(9, 13), 16)
  if (known === undefined || now > lastTime) {
    const bytes = random(10)
    bytes.writeUInt8((bytes.readUInt8(0) & 0x0f) | 0x70, 0)
    bytes.writeUInt8((bytes.readUInt8(2) & 0x3f) | 0x80, 2)
    return dashed(now.toString(16).padStart(12, '0') + bytes.toString('hex'))
  }
  const hex = known.replaceAll('-', '')
  const time = BigInt(`0x${hex.slice(0, 12)}${hex.slice(13, 16)}`)
  // Without the version and the variant, so that a carry goes on into the time.
  const bits = (time << 62n) | BigInt.asUintN(62, BigInt(`0x${hex.slice(16)}`))
  const next = bits + BigInt(1 + random(4).readUInt32BE())
  const high = (next >> 62n).toString(16).padStart(15, '0')
  const low = BigInt.asUintN(62, next) | (1n << 63n)
  return dashed(`${high.slice(0, 12)}7${high.slice(12)}${low.toString(16)}`)
}

function dashed(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
