// The 10,000 cars that every contestant serves, and the store of those who bring none: a map by id, and lists by
// colour.

export const COLORS = [
  'black',
  'blue',
  'green',
  'grey',
  'orange',
  'red',
  'silver',
  'white',
  'yellow',
]
const MODELS = [
  { name: '205', brand: 'Peugeot' },
  { name: 'Clio', brand: 'Renault' },
  { name: 'Golf', brand: 'Volkswagen' },
  { name: 'Punto', brand: 'Fiat' },
]
const LETTERS = 'ABCDEFGHJKLMNPQRSTVWXYZ'

/** What a client sends for car number `at`. */
export function valuesOf(at) {
  const letters = (from, step) => LETTERS[Math.floor(from / step) % LETTERS.length]
  return {
    immatriculation: `${letters(at, 1)}${letters(at, 23)}-${100 + (at % 900)}-${letters(at, 7)}${letters(at, 61)}`,
    color: COLORS[(at * 7 + Math.floor(at / 11)) % COLORS.length],
    model: { ...MODELS[(at * 5) % MODELS.length] },
    price: 1000 + ((at * 7919) % 90_000),
    mileage: (at * 104_729) % 300_000,
    sold: at % 3 === 0,
  }
}

/** When car number `at` was made: one every seven minutes. */
export const madeAt = at => Date.UTC(2025, 0, 31, 12) + at * 420_000

/** The cars as they are served, ids from 1. */
export function makeCars(count = 10_000) {
  return Array.from({ length: count }, (_, at) => {
    const date = new Date(madeAt(at)).toISOString()
    return { id: at + 1, ...valuesOf(at), created_at: date, updated_at: date }
  })
}

/** The cars in memory, as one writes it by hand: with an index by colour, which ours is told of too. */
export function carStore(cars) {
  const byId = new Map(cars.map(car => [car.id, car]))
  const byColor = new Map(COLORS.map(color => [color, cars.filter(car => car.color === color)]))
  let last = cars.length
  return {
    get: id => byId.get(id),
    page(color, offset, limit) {
      const found = byColor.get(color) ?? []
      return { items: found.slice(offset, offset + limit), total: found.length }
    },
    create(values) {
      const date = new Date().toISOString()
      const car = { id: ++last, ...values, created_at: date, updated_at: date }
      byId.set(car.id, car)
      byColor.get(car.color)?.push(car)
      return car
    },
  }
}

/** So many different pages of a colour: the first ones of all colours, then the second ones, in mixed order. */
export function pagesOf(count) {
  const pages = Array.from({ length: count }, (_, at) => ({
    color: COLORS[at % COLORS.length],
    offset: Math.floor(at / COLORS.length),
  }))
  // A step that shares no factor with the count visits each page once.
  return pages.map((_page, at) => pages[(at * 2579) % count])
}

/** The address of a page where a contestant has no other. */
export function targetOf(color, offset) {
  return `/cars?color=${color}&limit=25${offset > 0 ? `&offset=${offset}` : ''}`
}

/** The `Link` of a page. */
export function linkOf(base, color, { offset, limit, total }) {
  const link = (rel, at) => `<${base}?color=${color}&limit=${limit}&offset=${at}>; rel="${rel}"`
  const links = [link('first', 0), link('last', Math.max(0, total - 1 - ((total - 1) % limit)))]
  if (offset + limit < total) links.unshift(link('next', offset + limit))
  if (offset > 0) links.unshift(link('previous', Math.max(0, offset - limit)))
  return links.join(', ')
}
