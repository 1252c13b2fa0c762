// Programs of a front end, which have the printed types of an api and nothing else of it.

/** What the example does over a socket; what it must not do, the compiler says. */
export const CARS = `import { createQueries } from 'rest-conventions/query'
import { ConflictError, createClient, versionOf } from 'rest-conventions/client'
import type { Api, Car, CarInput } from './api.ts'

const [, , url = '', picture = ''] = process.argv
const client = createClient<Api>(url, { version: 2 })
const input: CarInput = { immatriculation: 'AB-123-CD', color: 'red', model: { name: 'Clio' }, price: 900 }
const made: Car = await client.cars.create(input)
await client.cars.create([{ ...input, immatriculation: 'AB-124-CD', price: 5 }])
const list = client.cars.list({ price: { gte: 10 }, color: ['red', 'blue'], model: { name: { prefix: 'Cl' } }, sort: '-model.name' })
const found = await list.toArray()
const part = await client.cars.list({ fields: ['id', 'model.name', 'options'], include: ['options(5)'] }).first()
const option = await client.options.create({ car_id: made.id, name: 'Roof rack' })
const whole = await client.options.read(option.id, { include: ['car'] })
const patched = await client.cars.patch(made, { price: 800, model: { brand: null } })
const version = versionOf(patched)
await client.cars.patch(made.id, { mileage: 1 })
const lost = await client.cars.patch({ ...patched }, { price: 1 }, version ? { version } : {}).catch(error => error instanceof ConflictError)
const account = await client.accounts.create({ name: 'Ann', email: 'ann@example.com' })
const bought = await client.cars.buy(made.id, { account_id: account.id })
const file = new Blob([Buffer.from(picture, 'base64')], { type: 'image/gif' })
const photo = await client.photos.create({ comment: 'A car', photo: file })
const kept = await client.photos.replace(photo, { comment: 'A red car', photo: { url: photo.photo.url }, thumb: null })
const related = await client.options.list({ car: { color: 'red' } }).first()
const counted = await client.cars.count({ sold: true, or: [{ price: 5 }, { price: { lt: 900 } }] })
const searched = await client.cars.search('clio', { limit: 5 }).toArray()
const deleted = await client.photos.delete(kept)
export const query = createQueries(client).cars.list({ color: 'red' }).queryOptions()

console.log(JSON.stringify([
  found.map(({ price }) => price), part?.model.name, part?.options.length, whole.car?.immatriculation, patched.model.brand ?? 'none', lost,
  bought.buyer, kept.comment, related?.name, counted, searched.length, deleted.id === photo.id,
]))

export const wrong = async () => {
  // @ts-expect-error
  await client.trucks.read(1)
  // @ts-expect-error
  await client.cars.read('x')
  // @ts-expect-error
  await client.cars.create({ color: 'red' })
  // @ts-expect-error
  await client.cars.create({ ...input, color: 'pink' })
  // @ts-expect-error
  await client.cars.create({ ...input, sold: true })
  // @ts-expect-error
  await client.cars.patch(made, { prise: 1 })
  // @ts-expect-error
  await client.cars.patch(made, { color: null })
  // @ts-expect-error
  await client.cars.list({ colour: 'red' }).first()
  // @ts-expect-error
  await client.cars.list({ price: { prefix: 'x' } }).first()
  // @ts-expect-error
  await client.cars.list({ sort: 'model' }).first()
  // @ts-expect-error
  await client.cars.list({ fields: ['colour'] }).first()
  // @ts-expect-error
  await client.cars.list({ include: ['models'] }).first()
  // @ts-expect-error
  await client.photos.list({ photo: 'x' }).first()
  // @ts-expect-error
  await client.cars.buy(made)
  // @ts-expect-error
  await client.cars.buy(made, { offer: 1 })
  // @ts-expect-error
  await client.options.search('x').first()
  // @ts-expect-error
  await client.photos.create({ comment: 'x', photo: 1 })
  // @ts-expect-error
  part?.price
  // @ts-expect-error
  made.colour
  // @ts-expect-error
  patched.price = 1
  // @ts-expect-error
  createClient<Api>(url)
}
`

/** The same with the odd one. */
export const ODD = `import { batch, patchMany } from 'rest-conventions/client/batch'
import { createClient } from 'rest-conventions/client'
import type { Api, Shape, TreeOfPlace } from './api.ts'

const [, , url = ''] = process.argv
const client = createClient<Api>(url, {
  ids: { authors: 'identifier' },
  methods: { shapes: { reset: 'PUT' }, notes: { find: 'GET' } },
})
const shape: Shape = await client.shapes.create({ kind: 'circle' })
const measured = await client.shapes.measure(shape, { unit: 'mm' })
await client.shapes.reset()
const place = await client.places.create({
  at: [1, 2], path: ['a', 1, 2], rates: { eur: 1 }, days: { sat: true, sun: false }, tree: { name: 'a', branches: [{ name: 'b' }] },
  home: { street: 'x' }, level: 'top', code: 'c', secret: 's',
})
const tree: TreeOfPlace | undefined = place.tree.branches?.[0]
const moved = await client.places.patch(place, { rates: { usd: 2 }, home: { city: null }, tree: { branches: null } })
const file = await client.files.create({ comment: 'x', scan: new Blob(['x']) })
const content = await (await fetch(file.scan_url)).text()
const author = await client.authors.create({ name: 'Ann' })
const renamed = await client.authors.patch(author, { name: 'Bo' })
const note = await client.notes.create({ text: 'x', color: 'red', stars: 3, place_id: place.id, author_id: author.identifier })
const [group] = await client.notes.count({ by: ['color', 'created_at:year'], sum: 'stars' })
const written = await client.notes.list({ include: ['writer', 'place'], writer: { name: 'Bo' } }).first()
const many = await patchMany(client, 'notes', { color: 'red' }, { color: 'blue' }, { maxAffected: 5 })
const [stepped] = await batch(client, steps => [steps.places.patch(place.id, { level: 1 })])
const near = await client.notes.find({ near: { x: 5 }, words: ['a', 'b'] })

console.log(JSON.stringify([
  shape.kind === 'circle' && shape.radius, measured.size[1], place.path[1], tree?.name, moved.rates.usd, moved.home.city ?? 'none', content,
  renamed.name, group?.color, group?.sum.stars, written?.writer?.name, written?.place?.code, many, near[0]?.x, stepped.level, note.author_id === author.identifier,
]))

export const wrong = async () => {
  // @ts-expect-error
  shape.side
  // @ts-expect-error
  await client.shapes.create({ kind: 'square', radius: 1 })
  // @ts-expect-error
  await client.shapes.measure(shape, { unit: 'km' })
  // @ts-expect-error
  measured.size[2]
  // @ts-expect-error
  await client.places.patch(place, { at: [1] })
  // @ts-expect-error
  await client.places.patch(place, { code: 'd' })
  // @ts-expect-error
  await client.places.patch(place, { made: 'd' })
  // @ts-expect-error
  await client.places.patch(place, { tree: { branches: [{ title: 'x' }] } })
  // @ts-expect-error
  place.secret
  // @ts-expect-error
  await client.places.list({ level: 2 }).first()
  // @ts-expect-error
  await client.files.list({ scan_url: 'x' }).first()
  // @ts-expect-error
  await client.notes.delete(note)
  // @ts-expect-error
  await patchMany(client, 'places', { code: 'c' }, { level: 1 })
  // @ts-expect-error
  await client.notes.count({ by: 'text' })
  // @ts-expect-error
  await client.notes.find({ near: { y: 5 }, words: [] })
  // @ts-expect-error
  await client.notes.list({ include: ['author'] }).first()
  // @ts-expect-error
  author.created_at
  // @ts-expect-error
  createClient<Api>(url, { ids: { authors: 'identifier' } })
}
`

/** Whether clients of the printed types take and give what those of the declarations do. */
export const PARITY = `import type { Client } from 'rest-conventions/client'
import type { odd } from 'odd-api'
import type { Api } from './api.ts'

type Declared = Client<typeof odd>
type Printed = Client<Api>
type Name = Exclude<keyof Declared, symbol>
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type Input<R> = R extends { create(item: infer T): unknown } ? T : never
type Filters<R> = R extends { count(filters?: infer T): unknown } ? T : never
type Changes<R> = R extends { patch(target: never, changes: infer T): unknown } ? T : never
type Item<R> = R extends { patch(target: never, changes: never): Promise<infer T> } ? T : never
interface Calls<R> { input: Input<R>; filters: Filters<R>; changes: Changes<R>; item: Item<R> }
type Compared<K extends keyof Calls<unknown>> = { [N in Name]: Same<Calls<Declared[N]>[K], Calls<Printed[N]>[K]> }

export const names: Same<keyof Declared, keyof Printed> = true
export const changes: Compared<'changes'> = { shapes: true, places: true, files: true, notes: true, authors: true }
export const filters: Compared<'filters'> = { shapes: true, places: true, files: true, notes: true, authors: true }
// A program may give the record of a file too, and the declared type says that authors have an id and dates.
export const input: Compared<'input'> = { shapes: true, places: true, files: false, notes: true, authors: true }
export const item: Compared<'item'> = { shapes: true, places: true, files: false, notes: true, authors: false }
`
