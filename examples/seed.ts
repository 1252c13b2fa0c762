// A few hundred believable items, the same in every new database.
import type { CarsApi } from './cars-api.ts'
import { drawCar } from './picture.ts'
import type { Stores } from './stores.ts'

const MODELS: Readonly<Record<string, readonly string[]>> = {
  Citroën: ['C3', 'C4', 'Berlingo', 'Ami'],
  Dacia: ['Sandero', 'Duster', 'Spring'],
  Fiat: ['500', 'Panda'],
  Ford: ['Fiesta', 'Focus', 'Kuga'],
  Peugeot: ['208', '308', '3008', 'Rifter'],
  Renault: ['Clio', 'Mégane', 'Twingo', 'Zoe', 'Kangoo'],
  Tesla: ['Model 3', 'Model Y'],
  Toyota: ['Yaris', 'Corolla', 'RAV4'],
  Volkswagen: ['Golf', 'Polo', 'ID.3'],
}
const COLORS = ['black', 'blue', 'green', 'grey', 'orange', 'red', 'silver', 'white', 'yellow']
const OPTIONS: Readonly<Record<string, number>> = {
  'Air conditioning': 900,
  'Parking sensors': 350,
  'Rear camera': 450,
  'Heated seats': 400,
  'Panoramic roof': 1200,
  'Tow bar': 700,
  'Metallic paint': 650,
  Navigation: 800,
}
const FIRST = ['Amina', 'Bruno', 'Chloé', 'David', 'Elif', 'Farid', 'Gaëlle', 'Hugo', 'Inès', 'Jan']
const LAST = ['Martin', 'Nguyen', "O'Brien", 'Petit', 'Roux', 'Silva', 'Traoré', 'Weber']
const CITIES = ['Lyon', 'Nantes', 'Lille', 'Marseille', 'Strasbourg', 'Bordeaux']
const PLATE = 'ABCDEFGHJKLMNPQRSTVWXYZ'
const CARS = 160
const ACCOUNTS = 40
const PHOTOS = 24

/**
 * Makes the first items of a new database, one after the other. After an interruption it goes on from
 * there the next time.
 * @param signal asks it to end after the item that it is at.
 * @returns how many items it made.
 */
export async function seed(
  { api }: CarsApi,
  seeding: Stores['seeding'],
  signal?: AbortSignal,
): Promise<number> {
  const state = await seeding.read()
  if (state === 'done') return 0
  const items = Object.entries(firstItems())
  const counts = await Promise.all(items.map(([name]) => api.collection(name).count()))
  // Items that others have made stay as they are.
  const hasOthers = state === 'no' && counts.some(count => count > 0)
  await seeding.write(hasOthers ? 'done' : 'begun')
  if (hasOthers) return 0
  let made = 0
  for (const [at, [name, values]] of items.entries()) {
    for (const value of values.slice(counts[at])) {
      if (signal?.aborted) return made
      await api.collection(name).create(value)
      made++
    }
  }
  await seeding.write('done')
  return made
}

/** What each collection begins with, in the order of making: ids are counted from 1. */
function firstItems(): Record<string, readonly Readonly<Record<string, unknown>>[]> {
  const { below, pick } = chances(2024)
  const models = Object.entries(MODELS).flatMap(([brand, names]) =>
    names.map(name => ({ brand, name })),
  )
  const accounts = Array.from({ length: ACCOUNTS }, (_, at) => {
    const [first, last] = [FIRST[at % FIRST.length] ?? '', LAST[at % LAST.length] ?? '']
    const email = `${plain(first)}.${plain(last)}${at}@mail.example`
    return { name: `${first} ${last}`, email, city: pick(CITIES), newsletter: below(3) === 0 }
  })
  const cars = Array.from({ length: CARS }, (_, at) => {
    const brand = pick(Object.keys(MODELS))
    const name = pick(MODELS[brand] ?? [])
    const age = below(15)
    return {
      immatriculation: plate(at),
      color: pick(COLORS),
      model: { name, brand },
      price: 2000 + 500 * below(60) + 1000 * (15 - age),
      mileage: age * (6000 + below(12_000)),
      registered_on: `${2024 - age}-${twoDigits(1 + below(12))}-${twoDigits(1 + below(28))}`,
      // Every eighth is sold, never the first: there is one to buy.
      ...(at % 8 === 7 && { sold: true, buyer: `${pick(FIRST)} ${pick(LAST)}` }),
    }
  })
  const cars_models = cars.map(({ model: { brand, name } }, at) => {
    const model = models.findIndex(each => each.brand === brand && each.name === name)
    return { car_id: at + 1, model_id: model + 1 }
  })
  const options = cars.flatMap((_, at) => {
    const first = below(Object.keys(OPTIONS).length)
    const chosen = Object.entries(OPTIONS).slice(first, first + 1 + below(4))
    return chosen.map(([name, price]) => ({ car_id: at + 1, name, price }))
  })
  const pictures = new Map(
    COLORS.map(color => [
      color,
      {
        photo_data: drawCar(color, 480).toString('base64'),
        thumb_data: drawCar(color, 96).toString('base64'),
      },
    ]),
  )
  const photos = cars.slice(0, PHOTOS).map(({ color }, at) => ({
    comment: `${plate(at)}, ${pick(['left side', 'for the advertisement', 'as it was bought'])}`,
    ...pictures.get(color),
  }))
  return { models, accounts, cars, cars_models, options, photos }
}

/** Numbers that look random and are the same each time (mulberry32). */
function chances(state: number) {
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
  const pick = (choices: readonly string[]) => choices[below(choices.length)] ?? ''
  return { below, pick }
}

/** A different French plate for each number. */
function plate(at: number): string {
  const letter = (number: number) => PLATE[number % PLATE.length] ?? 'A'
  const digits = String(100 + ((at * 37) % 900))
  return `${letter(at * 3)}${letter(at * 7 + 5)}-${digits}-${letter(at * 11 + 2)}${letter(at)}`
}

function plain(name: string): string {
  return name
    .normalize('NFD')
    .replace(/[^A-Za-z]/g, '')
    .toLowerCase()
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0')
}
