// The same by hand without an `ETag`: what hashing a body costs.
import { carStore } from '../cars.js'
import { serve } from './node.js'

export const name = 'by hand, no ETag'
export const works = ['W1', 'W2', 'W2b', 'W4']

export function start(cars) {
  return serve(carStore(cars))
}
