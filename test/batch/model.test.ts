// Random batches against a model, and dry runs that leave the database as it is: `BATCHES=10000` before a release.
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineApi, defineCollection } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { usePostgres } from '../stores/postgres.ts'
import { TRANSACTIONAL } from '../stores/transactional.ts'

usePostgres()

const BATCHES = Number(process.env.BATCHES || 150)

/** A pseudorandom sequence: the same batches in each run. */
function createRandom(seed: number) {
  let state = seed
  return (bound: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * bound)
  }
}

function notes(make: () => Store) {
  const notes = defineCollection({
    name: 'notes',
    schema: z.object({ id: z.string(), text: z.string().max(5), parent_id: z.string().optional() }),
    store: make(),
    references: { parent_id: { collection: 'notes', onDelete: 'restrict' } },
    operations: ['list', 'read', 'create', 'patch', 'delete', 'patchMany', 'deleteMany'],
  })
  return defineApi({ collections: { notes }, batch: true, limits: { steps: 10 } })
}

type Model = ReadonlyMap<string, { readonly text: string; readonly parent?: string | undefined }>

interface Step {
  readonly method: string
  readonly path: string
  readonly body?: Body | readonly Body[]
  readonly prefer?: string
}

type Body = Readonly<Record<string, unknown>>

const IDS = ['a', 'b', 'c', 'd', 'e']
const TEXTS = ['', 'x', 'yy', 'long text', '{s}']

function randomStep(random: (bound: number) => number): Step {
  const id = IDS[random(IDS.length)] ?? ''
  const text = TEXTS[random(TEXTS.length)]
  const other = IDS[random(IDS.length)]
  // Databases with foreign keys take an item that refers to itself.
  const parent = random(2) === 0 || other === id ? {} : { parent_id: other }
  switch (random(8)) {
    case 0:
    case 1:
      return { method: 'POST', path: '/notes', body: { id, text, ...parent } }
    case 2:
      return { method: 'PATCH', path: `/notes/${id}`, body: { text } }
    case 3:
      return { method: 'DELETE', path: `/notes/${id}` }
    case 4:
      return {
        method: 'POST',
        path: '/notes',
        body: [
          { id, text, ...parent },
          { id: other, text: 'x' },
        ],
      }
    case 5:
      return { method: 'PATCH', path: `/notes?text=${TEXTS[random(2)]}`, body: { text } }
    case 6:
      return {
        method: 'DELETE',
        path: `/notes?id[in]=${id},${other}`,
        prefer: `max-affected=${random(4)}`,
      }
    default:
      return { method: 'GET', path: `/notes/${id}` }
  }
}

const EITHER = 0

/** What a step does to the model; a number is the status that it fails with. */
function apply(model: Model, { method, path, body = {}, prefer }: Step): Model | number {
  if (Array.isArray(body)) return createAll(model, body)
  if (path.includes('?')) return writeByFilter(model, path, prefer, Object(body).text)
  return applyToOne(model, { method, path, body: body as Body })
}

/** Of several reasons each store finds another first. */
function createAll(model: Model, items: readonly Body[]): Model | number {
  if (items.some(({ text }) => String(text).length > 5)) return 400
  let next: Model = model
  let failure: number | undefined
  const named = new Set(items.map(({ id }) => String(id)))
  for (const body of items) {
    const parent = body.parent_id === undefined ? undefined : String(body.parent_id)
    // A reference is looked for before any of them is there.
    if (parent !== undefined && !model.has(parent))
      failure = named.has(parent) ? 400 : (failure ?? 400)
    const result = applyToOne(next, {
      method: 'POST',
      path: '/notes',
      body: { ...body, parent_id: undefined },
    })
    if (typeof result === 'number') return failure === undefined ? result : EITHER
    next = new Map(result).set(String(body.id), { text: String(body.text), parent })
  }
  return failure ?? next
}

function writeByFilter(model: Model, path: string, prefer = '', text = ''): Model | number {
  const [, value = ''] = path.split('=')
  if (path.includes('text=')) {
    const found = [...model].filter(([, each]) => each.text === value)
    if (found.length > 0 && text.length > 5) return 400
    return new Map([...model, ...found.map(([id, each]) => [id, { ...each, text }] as const)])
  }
  const ids = value.split(',').filter(id => model.has(id))
  const gone = new Set(ids)
  if (gone.size > Number(prefer.split('=')[1])) return 400
  const isKept = ([id, { parent }]: [string, { parent?: string | undefined }]) =>
    !gone.has(id) && parent !== undefined && gone.has(parent)
  if ([...model].some(isKept)) return 409
  return new Map([...model].filter(([id]) => !gone.has(id)))
}

function applyToOne(
  model: Model,
  { method, path, body }: { method: string; path: string; body: Body },
): Model | number {
  const id = method === 'POST' ? String(body.id) : path.slice('/notes/'.length)
  const found = model.get(id)
  const text = String(body.text)
  const parent = body.parent_id === undefined ? undefined : String(body.parent_id)
  if (method !== 'POST' && !found) return 404
  if (method === 'GET') return model
  if (method === 'DELETE') {
    if ([...model].some(([name, each]) => each.parent === id && name !== id)) return 409
    return new Map([...model].filter(([name]) => name !== id))
  }
  if (text.length > 5) return 400
  if (method === 'PATCH') return new Map(model).set(id, { text, parent: found?.parent })
  // Of two reasons each store finds another first.
  if (parent !== undefined && !model.has(parent)) return found ? EITHER : 400
  return found ? 409 : new Map(model).set(id, { text, parent })
}

it.each(Object.entries(TRANSACTIONAL))('%s is as the model says', async (_name, open) => {
  const make = await open()
  const api = notes(make)
  const random = createRandom(11)
  const send = async (steps: readonly Step[], headers: Record<string, string> = {}) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
    const body = JSON.stringify(steps)
    const answer = await api.fetch(new Request('http://a/batch', { ...init, body }))
    return { status: answer.status, json: Object(await answer.json()) }
  }
  const dump = async () =>
    JSON.stringify(await api.collection('notes').list({ sort: 'id' }).toArray())
  let model: Model = new Map()
  let failed = 0
  for (let at = 0; at < BATCHES; at++) {
    const steps = Array.from({ length: 1 + random(4) }, () => randomStep(random))
    let next: Model = model
    let failure: readonly [step: number, status: number] | undefined
    for (const [number, step] of steps.entries()) {
      const result = apply(next, step)
      if (typeof result === 'number') {
        failure = [number, result]
        break
      }
      next = result
    }
    const before = await dump()
    const tried = await send(steps, { prefer: 'tx=rollback' })
    expect(await dump()).toBe(before)
    const answer = await send(steps)
    for (const { status, json } of [tried, answer]) {
      const context = JSON.stringify(steps)
      if (!failure) expect([status, context]).toEqual([200, context])
      else {
        const wanted = failure[1] === EITHER && status === 409 ? 409 : failure[1] || 400
        expect([json.errors?.[0]?.step, status, context]).toEqual([failure[0], wanted, context])
      }
    }
    if (failure) failed++
    else model = next
    expect(await dump().then(text => JSON.parse(text))).toEqual(
      [...model].sort().map(([id, { text, parent }]) => ({
        id,
        text,
        ...(parent !== undefined && { parent_id: parent }),
        created_at: expect.any(String),
        updated_at: expect.any(String),
      })),
    )
  }
  expect(failed).toBeGreaterThan(BATCHES / 10)
  expect(failed).toBeLessThan(BATCHES)
})
