// A few hundred believable items, the same at every first start.
import type { CarsApi } from './cars-api.ts'

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

/** Fills the api where it has nothing at all. @returns how many items it made. */
export async function seed(api: CarsApi): Promise<number> {
  const { cars, options, models, carsModels, accounts, photos } = api
  const all = [cars, options, models, carsModels, accounts, photos]
  const counts = await Promise.all(all.map(({ name }) => api.api.collection(name).count()))
  if (counts.some(count => count > 0)) return 0

  const { below, pick } = chances(2024)
  const modelIds = new Map<string, number>()
  for (const [brand, names] of Object.entries(MODELS)) {
    for (const name of names) {
      const { id } = await api.api.collection(models).create({ brand, name })
      modelIds.set(`${brand} ${name}`, Number(id))
    }
  }
  for (let at = 0; at < ACCOUNTS; at++) {
    const [first, last] = [FIRST[at % FIRST.length] ?? '', LAST[at % LAST.length] ?? '']
    const email = `${plain(first)}.${plain(last)}${at}@mail.example`
    await api.api.collection(accounts).create({
      name: `${first} ${last}`,
      email,
      city: pick(CITIES),
      newsletter: below(3) === 0,
    })
  }
  for (let at = 0; at < CARS; at++) {
    const brand = pick(Object.keys(MODELS))
    const name = pick(MODELS[brand] ?? [])
    const age = below(15)
    const car = await api.api.collection(cars).create({
      immatriculation: plate(at),
      color: pick(COLORS),
      model: { name, brand },
      price: 2000 + 500 * below(60) + 1000 * (15 - age),
      mileage: age * (6000 + below(12_000)),
      registered_on: `${2024 - age}-${twoDigits(1 + below(12))}-${twoDigits(1 + below(28))}`,
      // Every eighth is sold, never the first: there is one to buy.
      ...(at % 8 === 7 && { sold: true, buyer: `${pick(FIRST)} ${pick(LAST)}` }),
    })
    const car_id = Number(car.id)
    const model_id = modelIds.get(`${brand} ${name}`) ?? 1
    await api.api.collection(carsModels).create({ car_id, model_id })
    const first = below(Object.keys(OPTIONS).length)
    for (const [option, price] of Object.entries(OPTIONS).slice(first, first + 1 + below(4))) {
      await api.api.collection(options).create({ car_id, name: option, price })
    }
  }
  for (let at = 0; at < PHOTOS; at++) {
    await api.api.collection(photos).create({
      comment: `${plate(at)}, ${pick(['front', 'rear', 'inside', 'left side', 'right side'])}`,
      photo_url: `https://photos.example/${plate(at)}.jpg`,
      thumb_url: `https://photos.example/${plate(at)}-thumb.jpg`,
    })
  }
  const made = await Promise.all(all.map(({ name }) => api.api.collection(name).count()))
  return made.reduce((sum, count) => sum + count, 0)
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
