// What options add to a read and a create, in process: node added.js <addition, or several with +>. It answers
// { work, times } with the CPU of one, in microseconds. Asked by added.ts.
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { z } from 'zod'
import { makeCars, valuesOf } from './cars.js'
import { createAsk, typed } from './in-process.js'

const added = new Set(process.argv[2].split('+'))
const { bearerJwt, defineApi, defineCollection, memoryStore, onResponse } = await import(
  process.env.BUILD
)
const [issuer, baseUrl] = ['https://issuer.example', 'http://localhost:3000']
const { publicKey, privateKey } = await generateKeyPair('ES256')
const token = await new SignJWT({ scope: '' })
  .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
  .setIssuer(issuer)
  .setAudience(baseUrl)
  .setSubject('ann')
  .setExpirationTime('2h')
  .sign(privateKey)
let heard = 0
if (added.has('listener')) onResponse(({ status }) => (heard += status))

const cars = defineCollection({
  name: 'cars',
  schema: z.object({
    immatriculation: z.string().min(1),
    color: z.string(),
    model: z.object({ name: z.string(), brand: z.string() }),
    price: z.number(),
    mileage: z.int(),
    sold: z.boolean(),
  }),
  store: memoryStore(),
  id: 'integer',
  indexes: ['color'],
  ...((added.has('hook') || added.has('transaction')) && {
    hooks: {
      ...(added.has('hook') && { before: { create() {}, read() {} } }),
      ...(added.has('transaction') && { transaction: true, after: { create() {} } }),
    },
  }),
  ...(added.has('policy') && { visible: () => ({ mileage: { gte: 0 } }) }),
})
const api = defineApi({
  collections: [cars],
  baseUrl,
  ...(added.has('token') && {
    schemes: [bearerJwt({ issuer, keys: [await exportJWK(publicKey)] })],
  }),
})
for (const car of makeCars().slice(0, 1000)) {
  const { id, created_at, updated_at, ...values } = car
  await api.asSystem().collection(cars).create(values)
}
const ask = createAsk(api.handler)
const headers = added.has('token') ? ['Authorization', `Bearer ${token}`] : []
const bodies = Array.from({ length: 100 }, (_, at) => Buffer.from(JSON.stringify(valuesOf(at))))
const works = {
  read: [200, at => ask('GET', `/cars/${1 + (at % 100)}`, headers)],
  create: [
    201,
    at => {
      const body = bodies[at % bodies.length]
      return ask('POST', '/cars', [...headers, ...typed('application/json', body)], body)
    },
  ],
}
process.on('message', async ({ work, times }) => {
  const [expected, once] = works[work]
  const before = process.cpuUsage()
  for (let at = 0; at < times; at++) {
    const { status } = await once(at)
    if (status !== expected) throw new Error(`${work} was answered ${status}`)
  }
  const { user, system } = process.cpuUsage(before)
  process.send({ cpu: (user + system) / times })
})
process.send({ heard })
