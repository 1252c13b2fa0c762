// What the tasks share: a car, and what their pages give them.
export const CAR = { color: 'red', price: 5, model_id: 1 } as const
export const OTHER = 'https://other.example'
export interface Car {
  readonly id: number
  readonly created_at: string
  readonly updated_at: string
  readonly color: 'red' | 'blue'
  readonly price: number
  readonly model_id: number
  readonly buyer: string | null
}
export type Show = (name: string, text: string | undefined) => void
/** The token that the page keeps, or a new one. */
export const stored = (renew: boolean) => Promise.resolve(renew ? 'new' : 'old')
