// The keys by which clients are counted: of a principal, else of an address.
import { createHash } from 'node:crypto'
import { Remembered } from '../base/remembered.ts'

/** Builds the key of a principal. A long id is hashed, so that it fits the column of a database. */
export function principalKey(id: string): string {
  return `principal:${id.length <= 128 ? id : createHash('sha256').update(id).digest('base64url')}`
}

/** Builds the key of an address. An IPv6 address counts by its /64, since one client has all of it. */
export function addressKey(address = 'unknown'): string {
  return addressKeys.get(address, printAddressKey)
}

const addressKeys = new Remembered<string>(1000, 64)

function printAddressKey(address: string): string {
  return `address:${toNetwork(address)}`
}

function toNetwork(address: string): string {
  if (!address.includes(':')) return address
  const [bare = ''] = address.split('%', 1)
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(bare)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = bare.split('::', 2)
  const groups = head === '' ? [] : head.split(':')
  // Only the first four groups count; `::` may stand for some of them.
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':')
    while (groups.length + after.length < 8) groups.push('0')
    groups.push(...after)
  }
  const network = groups.slice(0, 4).map(group => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}
