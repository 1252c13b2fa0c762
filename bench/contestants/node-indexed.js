// The same by hand without an `ETag`, with an index by colour: the least that a page can cost without kept texts.
import { indexedCarStore } from '../cars.js'
import { serve } from './node.js'

export const name = 'by hand, no ETag, indexed'
export const works = ['W2', 'W2b', 'W4']

export function start(cars) {
  return serve(indexedCarStore(cars))
}
