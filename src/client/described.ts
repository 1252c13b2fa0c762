// The types of an api that a program knows from its OpenAPI document, for `createClient`: no declaration is at hand.
import type { AnyPrincipal } from '../auth/scheme.ts'
import type { None } from '../model/types/collection-types.ts'
import type { Operation } from '../model/types/operation.ts'
import type { Member } from '../model/types/resource.ts'

/** What a document says of a collection. What is absent, it does not have. */
export interface CollectionDescription {
  readonly name: string
  /** An item as answers have it, without what `include` adds. */
  readonly item: unknown
  /** What `create` and `replace` take. */
  readonly input?: unknown
  /** The kind of the ids. Default `uuid`: texts. */
  readonly id?: 'integer'
  /** The name of the id. Default `id`. */
  readonly key?: string
  /** The properties of the input that `patch` does not take. */
  readonly immutable?: string
  /** The properties of items that are files, or addresses of them. */
  readonly files?: string
  /** The operations. Default: all but those by filter. */
  readonly operations?: Operation
  /** Whether there is a search. */
  readonly search?: true
  /** What counts are grouped by. */
  readonly groups?: string
  /** The collections that properties refer to: those of parents, which include their children, and others. */
  readonly parents?: object
  readonly references?: object
  readonly actions?: object
}

/**
 * A collection of an api that `createClient` takes, of what a document says. `npx rest-conventions types` prints it.
 * @example
 * import { createClient, type DescribedCollection } from 'rest-conventions/client'
 * interface Car { id: string; color: string }
 * interface CarsCollection { name: 'cars'; item: Car; input: { color: string } }
 * interface Api { collections: { cars: DescribedCollection<CarsCollection> } }
 * const client = createClient<Api>('https://api.example')
 * const paint = (car: Car) => client.cars.patch(car.id, { color: 'blue' })
 */
export interface DescribedCollection<T extends CollectionDescription> {
  readonly def: DescribedDef<T>
}

interface DescribedDef<T extends CollectionDescription> {
  readonly name: T['name']
  readonly schema: DescribedSchema<T['item'], Given<T, 'input', never>>
  readonly id: Given<T, 'id', 'uuid'>
  readonly key: Given<T, 'key', 'id'>
  readonly immutable: Given<T, 'immutable', never>
  readonly files: Given<T, 'files', never>
  readonly operations: Given<T, 'operations', never>
  readonly search: T extends { readonly search: true } ? string : never
  readonly groups: Given<T, 'groups', never>
  readonly parents: Given<T, 'parents', None>
  readonly references: Given<T, 'references', None>
  readonly on: Each<Given<T, 'actions', None>, 'on'>
  readonly input: Schemas<Given<T, 'actions', None>, 'input'>
  readonly output: Schemas<Given<T, 'actions', None>, 'output'>
  readonly method: Each<Given<T, 'actions', None>, 'method'>
  // The rest is what a declaration says beside the schemas of its answers.
  readonly readOnly: never
  readonly writeOnly: never
  readonly roles: None
  readonly binary: never
  readonly lease: never
  readonly trash: never
  readonly own: object
  readonly principal: AnyPrincipal
  readonly by: 'client'
}

/** The types of answers and of requests, where a declaration has a schema. */
interface DescribedSchema<Out, In> {
  readonly _zod: { readonly output: Out; readonly input: In }
}

type Given<T, K, Default> = K extends keyof T ? T[K] : Default

/** A property of each action. */
type Each<Actions, K> = { readonly [A in keyof Actions]: Member<Actions[A], K> }
type Schemas<Actions, K> = {
  readonly [A in keyof Actions]: K extends keyof Actions[A]
    ? Actions[A][K] extends 'item'
      ? 'item'
      : DescribedSchema<Actions[A][K], Actions[A][K]>
    : unknown
}
