// What the OpenAPI document weighs and costs: `npx tsx bench/documents.ts [--collections=3,30,300]`. Bytes of each kind; CPU of
// the first request, of later ones, and of those that are 304.
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { defineApi, defineCollection, memoryStore } from '../src/index.ts'

const { values } = parseArgs({ options: { collections: { type: 'string', default: '3,30,300' } } })

function open(count: number) {
  const collections = Array.from({ length: count }, (_, at) => {
    const parents = at > 0 ? { owner_id: 'things0' } : undefined
    return defineCollection({
      name: `things${at}`,
      schema: z.object({
        name: z.string(),
        color: z.enum(['red', 'blue', 'green']),
        price: z.number().min(0),
        model: z.object({ name: z.string(), brand: z.string().optional() }),
        born: z.iso.date().optional(),
        tags: z.array(z.string()).default([]),
        owner_id: z.uuid().optional(),
      }),
      store: memoryStore(),
      search: ['name'],
      ...(parents && { parents }),
    })
  })
  return defineApi({ collections, baseUrl: 'http://api.test' })
}

const cpu = () => process.cpuUsage().user / 1000

for (const count of values.collections.split(',').map(Number)) {
  for (const path of ['/openapi.json', '/openapi.json?formats=json', '/llms.txt']) {
    const api = open(count)
    const ask = async (headers: Record<string, string> = {}) => {
      const began = cpu()
      const answer = await api.fetch(new Request(`http://api.test${path}`, { headers }))
      const text = await answer.text()
      return { ms: cpu() - began, bytes: text.length, etag: answer.headers.get('etag') ?? '' }
    }
    const first = await ask()
    const least = async (headers?: Record<string, string>) => {
      const all: number[] = []
      for (let run = 0; run < 5; run++) all.push((await ask(headers)).ms)
      return Math.min(...all)
    }
    const later = await least()
    const known = await least({ 'if-none-match': first.etag })
    console.log(
      [
        `${count} collections ${path}:`,
        `${first.bytes} bytes, ${Math.round(first.bytes / count)} a collection;`,
        `first ${first.ms.toFixed(0)} ms, later ${later.toFixed(1)} ms, 304 ${known.toFixed(1)} ms`,
      ].join(' '),
    )
  }
}
