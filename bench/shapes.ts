// Bodies of repeated parts, in each format, at growing sizes: which of them take more than their length?
//   npx tsx bench/shapes.ts [--from=100000] [--doublings=4] [--only=multipart] [--most=2.3]
// The CPU of this process for one request in process, the least of five. A shape whose time grows by more than
// `most` a doubling, over all of them, is marked, and the command ends with 1. Times below 2 ms count as 2 ms.
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  createShapesApi,
  LONGEST,
  SHAPES,
  type Shape,
  type ShapesApi,
} from '../test/formats/shapes.ts'

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '100000' },
    doublings: { type: 'string', default: '4' },
    only: { type: 'string', default: '' },
    most: { type: 'string', default: '2.3' },
  },
})
const doublings = Number(values.doublings)
const TIMES = 5
const SHORT_MS = 2
/** No shape is measured further after so long. */
const PATIENCE_MS = 20_000

setFlagsFromString('--expose-gc')
/** The garbage of one request is not collected at the cost of the next. */
const collect: () => void = runInNewContext('gc')

/** The CPU of one request in milliseconds, and its status. */
async function measure(api: ShapesApi, shape: Shape, bytes: number) {
  const request = shape(bytes)
  collect()
  const before = process.cpuUsage()
  const response = await api.fetch(request)
  await response.arrayBuffer()
  const { user, system } = process.cpuUsage(before)
  return { ms: (user + system) / 1000, status: response.status }
}

let steep = 0
let count = 0
for (const [format, shapes] of Object.entries(SHAPES)) {
  if (!format.includes(values.only)) continue
  const from = Math.min(
    Number(values.from),
    (LONGEST[format] ?? Number.POSITIVE_INFINITY) / 2 ** doublings,
  )
  const sizes = Array.from({ length: doublings + 1 }, (_, at) => from * 2 ** at)
  for (const [title, shape] of Object.entries(shapes)) {
    count++
    const api = await createShapesApi()
    for (let i = 0; i < 3; i++) await measure(api, shape, Math.min(from, 20_000))
    const times: number[] = []
    let status = 0
    for (const bytes of sizes) {
      let least = Number.POSITIVE_INFINITY
      for (let i = 0; i < TIMES; i++) {
        const found = await measure(api, shape, bytes)
        least = Math.min(least, found.ms)
        status = found.status
        if (found.ms > PATIENCE_MS / TIMES) break
      }
      times.push(least)
      if (least > PATIENCE_MS / 4) break
    }
    const [first = 0] = times
    const growth = Math.max(times.at(-1) ?? 0, SHORT_MS) / Math.max(first, SHORT_MS)
    const worst = growth ** (1 / (times.length - 1))
    const isSteep = worst > Number(values.most)
    if (isSteep) steep++
    const printed = times.map(ms => ms.toFixed(1).padStart(8)).join('')
    console.log(
      `${isSteep ? '!' : ' '} ${`${format}, ${title}`.padEnd(55)}${status}${printed}  ×${worst.toFixed(2)}`,
    )
  }
}
console.log(`${count} shapes, ${steep} steeper than ${values.most}`)
process.exitCode = steep > 0 ? 1 : 0
