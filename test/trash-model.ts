// Random requests of two owners to cars with a trash, row policies and upserts, each compared with a model of plain JavaScript.
import { isDeepStrictEqual } from 'node:util'
import type { Store } from '../src/store/store.ts'
import { drawer } from './random.ts'
import { openGarage } from './trash-garage.ts'

interface Car {
  plate: string
  owner: string
  note: string
  km: number
  /** The deletion that it is in the trash by; 0 outside of it. */
  deletion: number
}

interface Part {
  car: number
  serial: string | undefined
  deletion: number
}

/** Requests of one world: later ones have new collections. */
const WORLD = 200
const CHECKED_EACH = 25

export interface TrashRun {
  readonly requests: number
  /** How many requests of each kind had which status. */
  readonly statuses: Readonly<Record<string, number>>
}

/**
 * @param open gives what opens the store of a collection, for each world anew.
 * @throws Error for the first response or list that is not as in the model.
 */
export async function askTrash(
  open: () => Promise<(name?: string) => Store>,
  count: number,
  seed?: number,
): Promise<TrashRun> {
  const draw = drawer(seed)
  const statuses: Record<string, number> = {}
  for (let asked = 0; asked < count; asked += WORLD) {
    const world = new World(await open(), draw, statuses)
    await world.run(Math.min(WORLD, count - asked))
  }
  return { requests: count, statuses }
}

const isLive = (each: { deletion: number } | undefined) => each?.deletion === 0

class World {
  readonly #garage: ReturnType<typeof openGarage>
  readonly #draw: (below: number) => number
  readonly #statuses: Record<string, number>
  readonly #cars = new Map<number, Car>()
  readonly #parts = new Map<number, Part>()
  #deletion = 0
  #asked = 0
  #who = 'ann'
  #isAdmin = true

  constructor(
    open: (name?: string) => Store,
    draw: (below: number) => number,
    statuses: Record<string, number>,
  ) {
    this.#garage = openGarage(open, { secured: true })
    this.#draw = draw
    this.#statuses = statuses
  }

  async run(count: number): Promise<void> {
    const steps = [
      () => this.#createCar(),
      () => this.#createPart(),
      () => this.#deleteCar(),
      () => this.#deletePart(),
      () => this.#restoreCar(),
      () => this.#restoreCar(),
      () => this.#restorePart(),
      () => this.#purge(),
      () => this.#patch(),
      () => this.#put(),
      () => this.#upsert(),
      () => this.#upsert(),
      () => this.#upsertArray(),
      () => this.#upsertArray(),
    ]
    while (this.#asked++ < count) {
      this.#who = this.#draw(4) === 0 ? 'bob' : 'ann'
      this.#isAdmin = this.#draw(5) > 0
      await steps[this.#draw(steps.length)]?.()
      if (this.#asked % CHECKED_EACH === 0 || this.#asked === count) await this.#compareAll()
    }
    await this.#garage.api.close()
  }

  /** Sends a request of the one who asks, and compares its status with what the model expects. */
  async #ask(
    kind: string,
    expected: number,
    [method, path, body, headers]: [string, string, unknown?, Record<string, string>?],
  ): Promise<Record<string, unknown> | undefined> {
    const authorization = `Test ${this.#who}${this.#isAdmin ? ' admin' : ''}`
    const { status, json } = await this.#garage.send(method, path, body, {
      authorization,
      ...headers,
    })
    const key = `${kind} ${status}`
    this.#statuses[key] = (this.#statuses[key] ?? 0) + 1
    if (status === expected) return status < 400 ? json : undefined
    const asked = `${method} ${path} ${JSON.stringify(body)} ${JSON.stringify(headers)}`
    throw new Error(
      `${authorization} ${asked}: ${status}, not ${expected}: ${JSON.stringify(json)}`,
    )
  }

  /** Draws the id of a late item, mostly of one that is outside of the trash or in it, as wanted. */
  #id(known: ReadonlyMap<number, { deletion: number }>, live = true): number {
    const wanted = [...known].filter(([, each]) => isLive(each) === live || this.#draw(8) === 0)
    const ids = wanted.slice(-6).map(([id]) => id)
    return ids[this.#draw(ids.length + 1)] ?? 999
  }

  #plate(): string {
    return `p${this.#draw(15)}`
  }

  #liveBy(plate: string): [number, Car] | undefined {
    return [...this.#cars].find(([, each]) => isLive(each) && each.plate === plate)
  }

  #ownCar(id: number): Car | undefined {
    const car = this.#cars.get(id)
    return car?.owner === this.#who ? car : undefined
  }

  /** Whether the serial number of a part is that of another one. */
  #hasSerial(serial: string | undefined): boolean {
    return [...this.#parts.values()].some(
      each => isLive(each) && serial !== undefined && each.serial === serial,
    )
  }

  async #createCar() {
    const values = { plate: this.#plate(), owner: this.#who, note: `n${this.#asked}`, km: 7 }
    const made = await this.#ask('create', this.#liveBy(values.plate) ? 409 : 201, [
      'POST',
      '/cars',
      values,
    ])
    if (made) this.#cars.set(Number(made.id), { ...values, deletion: 0 })
  }

  async #createPart() {
    const id = this.#id(this.#cars)
    const serial = this.#draw(2) === 0 ? `s${this.#draw(4)}` : undefined
    const expected = !isLive(this.#ownCar(id)) ? 400 : this.#hasSerial(serial) ? 409 : 201
    const body = { car_id: id, name: 'x', ...(serial && { serial }) }
    const made = await this.#ask('create part', expected, ['POST', '/parts', body])
    if (made) this.#parts.set(Number(made.id), { car: id, serial, deletion: 0 })
  }

  async #deleteCar() {
    const id = this.#id(this.#cars)
    const car = this.#ownCar(id)
    await this.#ask('delete', isLive(car) ? 200 : 404, ['DELETE', `/cars/${id}`])
    if (!car || !isLive(car)) return
    car.deletion = ++this.#deletion
    for (const part of this.#parts.values())
      if (part.car === id && isLive(part)) part.deletion = car.deletion
  }

  async #deletePart() {
    const id = this.#id(this.#parts)
    const part = this.#parts.get(id)
    await this.#ask('delete part', isLive(part) ? 200 : 404, ['DELETE', `/parts/${id}`])
    if (part && isLive(part)) part.deletion = ++this.#deletion
  }

  async #restoreCar() {
    const id = this.#id(this.#cars, false)
    const car = this.#ownCar(id)
    const with_ = [...this.#parts.values()].filter(each => car && each.deletion === car.deletion)
    const isTaken =
      car && (this.#liveBy(car.plate) || with_.some(each => this.#hasSerial(each.serial)))
    const found = !car || isLive(car) ? 404 : isTaken ? 409 : 303
    const expected = this.#isAdmin ? found : 403
    await this.#ask('restore', expected, ['POST', `/cars/${id}/restore`])
    if (!car || expected !== 303) return
    for (const part of with_) part.deletion = 0
    car.deletion = 0
  }

  async #restorePart() {
    const id = this.#id(this.#parts, false)
    const part = this.#parts.get(id)
    const isFree = part && isLive(this.#cars.get(part.car)) && !this.#hasSerial(part.serial)
    const expected = !part || isLive(part) ? 404 : isFree ? 303 : 409
    await this.#ask('restore part', expected, ['POST', `/parts/${id}/restore`])
    if (part && expected === 303) part.deletion = 0
  }

  async #purge() {
    if (this.#draw(3) > 0) return
    const id = this.#id(this.#cars, false)
    const car = this.#ownCar(id)
    const expected = !this.#isAdmin ? 403 : car && !isLive(car) ? 200 : 404
    await this.#ask('purge', expected, ['DELETE', `/cars/trash/${id}`])
    if (expected !== 200) return
    this.#cars.delete(id)
    for (const [key, part] of this.#parts) if (part.car === id) this.#parts.delete(key)
  }

  async #patch() {
    const id = this.#id(this.#cars)
    const car = this.#ownCar(id)
    const values = { plate: this.#plate(), note: `n${this.#asked}` }
    const isTaken = values.plate !== car?.plate && this.#liveBy(values.plate)
    const expected = !isLive(car) ? 404 : isTaken ? 409 : 303
    await this.#ask('patch', expected, ['PATCH', `/cars/${id}`, values])
    if (car && expected === 303) Object.assign(car, values)
  }

  async #put() {
    const id = this.#id(this.#cars)
    const car = this.#ownCar(id)
    const values = { plate: this.#plate(), owner: this.#who, note: `n${this.#asked}` }
    const isTaken = values.plate !== car?.plate && this.#liveBy(values.plate)
    const inTrash = car && !isLive(car) && this.#isAdmin
    const expected = inTrash ? 409 : !isLive(car) ? 404 : isTaken ? 409 : 303
    await this.#ask('replace', expected, ['PUT', `/cars/${id}`, values])
    if (car && expected === 303) Object.assign(car, values, { km: 0 })
  }

  /** `PUT /cars?plate=`, which takes no notice of the trash. */
  async #upsert() {
    const plate = this.#plate()
    const values = { owner: this.#who, note: `n${this.#asked}` }
    const conditions: readonly Record<string, string>[] = [
      {},
      {},
      { 'if-none-match': '*' },
      { 'if-match': '*' },
    ]
    const condition = conditions[this.#draw(conditions.length)] ?? {}
    const [, known] = this.#liveBy(plate) ?? []
    const own = known?.owner === this.#who ? known : undefined
    const isRefused = condition[own ? 'if-none-match' : 'if-match'] !== undefined
    const expected = isRefused ? 412 : own ? 303 : known ? 409 : 201
    const headers = condition
    const made = await this.#ask('upsert', expected, [
      'PUT',
      `/cars?plate=${plate}`,
      values,
      headers,
    ])
    if (own && expected === 303) Object.assign(own, values, { km: 0 })
    if (made && expected === 201)
      this.#cars.set(Number(made.id), { plate, ...values, km: 0, deletion: 0 })
  }

  async #upsertArray() {
    const plates = Array.from({ length: 1 + this.#draw(3) }, () => this.#plate())
    const items = plates.map((plate, at) => {
      return { plate, owner: this.#who, note: `n${this.#asked}.${at}` }
    })
    const merges = this.#draw(2) === 0
    const known = plates.map(plate => this.#liveBy(plate)?.[1])
    const isTwice = new Set(plates).size < plates.length
    const isHidden = known.some(each => each && each.owner !== this.#who)
    const creates = known.includes(undefined)
    const expected = isTwice ? 400 : isHidden ? 409 : creates ? 201 : 200
    const prefer = `resolution=${merges ? 'merge' : 'ignore'}-duplicates`
    const query = this.#draw(2) === 0 ? '' : '?on_conflict=plate'
    const request = ['POST', `/cars${query}`, items, { prefer }] as [
      string,
      string,
      unknown,
      Record<string, string>,
    ]
    const all = await this.#ask(merges ? 'merge' : 'ignore', expected, request)
    for (const [at, item] of all ? items.entries() : []) {
      const { id } = Object(Object(all)[at])
      const car = known[at]
      if (!car) this.#cars.set(Number(id), { ...item, km: 0, deletion: 0 })
      else if (merges) Object.assign(car, item)
    }
  }

  /** Compares what both owners see with the model. */
  async #compareAll(): Promise<void> {
    for (const live of [true, false]) {
      const place = live ? '' : '/trash'
      for (const owner of ['ann', 'bob']) {
        const found = await this.#list(`/cars${place}`, owner, each => [
          ...[each.id, each.plate, each.owner, each.note, each.km],
        ])
        const own = [...this.#cars].filter(([, each]) => each.owner === owner)
        this.#compare(`cars of ${owner}`, found, live, own, ([id, each]) => [
          ...[id, each.plate, each.owner, each.note, each.km],
        ])
      }
      const found = await this.#list(`/parts${place}`, 'ann', each => [
        ...[each.id, each.car_id, each.serial],
      ])
      this.#compare('parts', found, live, [...this.#parts], ([id, each]) => [
        ...[id, each.car, each.serial],
      ])
    }
  }

  async #list(path: string, who: string, print: (each: Record<string, unknown>) => unknown[]) {
    const headers = { authorization: `Test ${who} admin` }
    const { json } = await this.#garage.send('GET', `${path}?limit=100`, undefined, headers)
    return json.map(print)
  }

  #compare<Each extends { deletion: number }>(
    what: string,
    found: unknown,
    live: boolean,
    known: readonly [number, Each][],
    print: (each: [number, Each]) => unknown[],
  ): void {
    const expected = known
      .filter(([, each]) => isLive(each) === live)
      .sort(([one], [other]) => one - other)
      .map(print)
    if (isDeepStrictEqual(found, expected)) return
    const place = live ? 'outside of' : 'in'
    throw new Error(
      `${what}, ${place} the trash: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`,
    )
  }
}
