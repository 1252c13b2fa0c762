// What the procedures of oRPC stand on: its database, and its schemas. No task counts it.
import { z } from 'zod'
import type { Car } from './shared.ts'

export const NewCar = z.object({
  color: z.enum(['red', 'blue']),
  price: z.int(),
  model_id: z.int(),
})
type New = z.infer<typeof NewCar>
export const Filters = z.object({
  color: z.enum(['red', 'blue']).optional(),
  price: z.object({ gte: z.int().optional(), lte: z.int().optional() }).optional(),
})
export const After = z.object({ price: z.int().optional(), id: z.int().optional() })
type By = z.infer<typeof Filters>
export declare const db: {
  list(by: By): Promise<Car[]>
  count(by: By): Promise<number>
  countBy(field: 'color', by: By): Promise<{ color: string; count: number; sum: number }[]>
  listAfter(after: object | undefined, limit: number): Promise<Car[]>
  listWithModels(): Promise<(Car & { model: { name: string } })[]>
  read(id: number): Promise<Car | null>
  create(car: New): Promise<Car | null>
  createModel(model: { name: string }): Promise<{ id: number }>
  update(id: number, changes: Partial<Car>): Promise<Car | null>
  updateIf(id: number, version: string, changes: Partial<New>): Promise<Car | null>
  delete(id: number): Promise<void>
  once<T>(key: string, work: () => Promise<T>): Promise<T>
  transaction<T>(work: () => Promise<T>): Promise<T>
  createPhoto(photo: { comment: string; photo: File }): Promise<{ id: number }>
  photoOf(id: number): Promise<File>
  csv(by: By): Promise<string>
}
export declare const publisher: {
  subscribe(name: string, options: { signal: AbortSignal | undefined }): AsyncIterable<Car>
}
export declare const isEqual: (car: Car, by: By) => boolean
