import { createServer } from 'node:http'
import { defineCollection, memoryStore } from 'rest-conventions'
import { z } from 'zod'

const Car = z.object({ immatriculation: z.string(), color: z.string(), price: z.number() })
const cars = defineCollection({ name: 'cars', schema: Car, store: memoryStore() })
const server = createServer(cars.handler).listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
server.once('listening', () => console.log('Serving /cars', server.address()))
