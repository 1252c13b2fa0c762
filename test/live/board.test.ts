// examples/helpdesk.ts in Chromium: a board that moves, in tabs of EventSource and of the client, whatever is done to it.
import { readFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { Transform, type TransformCallback } from 'node:stream'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundle } from '../bundle.ts'
import { type Running, start } from '../examples/running.ts'
import { freePort } from '../free-port.ts'
import { CHROMIUM, FLAGS, isMissing } from '../html/chromium.ts'
import { postgres, usePostgres } from '../stores/postgres.ts'
import { ask } from '../stores/postgres-server.ts'

const root = join(import.meta.dirname, '../..')

usePostgres()

/** What servers load first: a signal sets their clocks on, past the next check of the rights of each stream. */
const CLOCK = `
  const now = performance.now.bind(performance)
  let ahead = 0
  performance.now = () => now() + ahead
  process.on('SIGUSR2', () => { ahead += 31_000 })`

/** Has clients of a stream come again soon; a text of the same length, so that the lengths of chunks stay true. */
class Hurry extends Transform {
  override _transform(chunk: Buffer, _: string, done: TransformCallback): void {
    const text = chunk.toString('latin1').replace(/(?<=retry: )\d{4}/, '0050')
    done(null, Buffer.from(text, 'latin1'))
  }
}

/** A line to a server that can be cut, as a network can. */
class Line {
  isCut = false
  /** How many connections were tried while it was cut. */
  refused = 0
  readonly #sockets = new Set<Socket>()
  readonly #server: Server
  readonly port: Promise<number>

  constructor(target: number) {
    this.#server = createServer(socket => {
      const other = connect(target, '127.0.0.1')
      for (const [one, next] of [
        [socket, other],
        [other, socket],
      ] as const) {
        this.#sockets.add(one)
        one.on('error', () => next.destroy())
        one.on('close', () => {
          this.#sockets.delete(one)
          next.destroy()
        })
      }
      if (this.isCut) {
        this.refused++
        socket.resetAndDestroy()
      } else socket.pipe(other).pipe(new Hurry()).pipe(socket)
    })
    this.port = freePort().then(port => {
      this.#server.listen(port, '127.0.0.1')
      return port
    })
  }

  cut(isCut: boolean): void {
    this.isCut = isCut
    this.refused = 0
    if (isCut) for (const socket of this.#sockets) socket.destroy()
  }

  close(): void {
    this.cut(true)
    this.#server.close()
  }
}

/** Runs in a page before its scripts: keeps what its streams say. */
const KEEP_EVENTS = `
  globalThis.events = []
  const listen = EventSource.prototype.addEventListener
  EventSource.prototype.addEventListener = function (name, listener) {
    listen.call(this, name, event => { events.push([name, JSON.parse(event.data ?? 'null')]); listener(event) })
  }`

/** Runs in a page before its scripts: the client waits the shortest of its random times. */
const SHORT_WAITS = 'Math.random = () => 0'

interface Ticket {
  readonly id: number
  readonly status: string
  readonly updated_at: string
}

type Event = readonly [name: string, data: readonly Ticket[]]

const byId = (tickets: readonly Ticket[]) => tickets.toSorted((one, other) => one.id - other.id)

/** What a tab shows: its tickets, and the cards of each column. */
const SHOWN = `({
  tickets: [...tickets.values()],
  columns: [...document.querySelectorAll('section')].map(({ dataset, children }) =>
    [dataset.status, [...children].map(({ dataset }) => Number(dataset.id)).filter(id => id)]) })`

/** Runs in a page: the same list by the client, with the tickets where the board has them. */
const FOLLOW_BY_CLIENT = `
  import { createClient } from 'rest-conventions/client'
  import { watch } from 'rest-conventions/client/live'
  const auth = async ({ retry }) => {
    if (retry) await fetch('/as/north-agent')
    return retry ? 'Cookie renewed' : 'Cookie'
  }
  const client = createClient(location.origin, { auth })
  globalThis.tickets = new Map()
  globalThis.events = []
  for await (const change of watch(client, 'tickets', { status: { nin: ['closed'] } })) {
    if (change.reset) { tickets.clear(); events.push(['reset', {}]) }
    for (const each of change.items) tickets.set(each.id, each)
    for (const id of change.removed) tickets.delete(id)
    if (change.items.length) events.push(['items', change.items])
    if (change.ready) events.push(['ready', {}])
  }`

describe.skipIf(isMissing)('the board in Chromium', { timeout: 600_000 }, () => {
  let browser: Browser
  const servers: Running[] = []
  const ports: number[] = []
  const lines: Line[] = []
  const tabs: { page: Page; context: BrowserContext; line: Line; isBoard: boolean }[] = []

  async function serve(at: number): Promise<void> {
    const running = start('helpdesk', [postgres().url], {
      PORT: String(ports[at]),
      PAGES: join(root, 'examples'),
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(CLOCK)}`,
    })
    servers[at] = running
    await running.until(/Serving/)
  }

  async function open(person: string, server: number, isBoard = true): Promise<void> {
    const line = new Line(ports[server] ?? 0)
    lines.push(line)
    const origin = `http://127.0.0.1:${await line.port}`
    const context = await browser.newContext({ viewport: { width: 900, height: 420 } })
    const page = await context.newPage()
    page.setDefaultTimeout(240_000)
    await page.addInitScript(isBoard ? KEEP_EVENTS : SHORT_WAITS)
    await page.route('**/blank', route => route.fulfill({ contentType: 'text/html', body: '' }))
    await page.goto(`${origin}/as/${person}`)
    if (!isBoard) {
      await page.goto(`${origin}/blank`)
      await page.addScriptTag({ content: await clientScript(), type: 'module' })
    }
    tabs.push({ page, context, line, isBoard })
  }

  async function clientScript(): Promise<string> {
    const { build } = await import('esbuild')
    const paths = JSON.parse(await readFile(join(root, 'tsconfig.json'), 'utf8')).compilerOptions
      .paths as Record<string, [string]> // as the file has them
    const { outputFiles } = await build({
      stdin: { contents: FOLLOW_BY_CLIENT, resolveDir: root },
      alias: Object.fromEntries(
        Object.entries(paths).map(([name, [file]]) => [name, join(root, file)]),
      ),
      bundle: true,
      write: false,
      format: 'esm',
    })
    return outputFiles[0]?.text ?? ''
  }

  const query = (text: string, values: unknown[] = []) => ask(postgres().url, text, values)

  /** Waits until each tab shows what the list has; for as long as the test may take. */
  async function expectBoards(): Promise<void> {
    for (const { page, context, line, isBoard } of tabs) {
      const url = `http://127.0.0.1:${await line.port}/tickets?status[nin]=closed&limit=100`
      await expect
        .poll(async () => {
          // Its own session, beside the page.
          const list = await (await context.request.get(url)).json()
          const { tickets, columns } = await page.evaluate<{
            tickets: Ticket[]
            columns: [string, number[]][]
          }>(SHOWN)
          const shown = columns.map(([status, ids]) => [status, ids.toSorted((a, b) => a - b)])
          const expected = ['new', 'open', 'waiting'].map(status => [
            status,
            byId(list)
              .filter(each => each.status === status)
              .map(({ id }) => id),
          ])
          expect(byId(tickets)).toEqual(byId(list))
          if (isBoard) expect(shown).toEqual(expected)
          return true
        })
        .toBe(true)
    }
  }

  beforeAll(async () => {
    bundle(join(root, 'examples', 'helpdesk.ts'))
    for (const at of [0, 1]) {
      ports[at] = await freePort()
      await serve(at)
    }
    await query(`insert into customers (id, tenant, name, version, created_at, updated_at)
      values (100, 'north', 'Bob', 'v', now(), now())`)
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
    await open('north-agent', 0)
    await open('north-agent', 1)
    await open('north-agent', 0, false)
    await open('north-ann', 1)
  })
  afterAll(async () => {
    await browser?.close()
    for (const line of lines) line.close()
    for (const server of servers) await server.ended('SIGKILL')
  })

  const request = (path: string, method: string, body?: unknown, type = 'application/json') =>
    tabs[0]?.page.evaluate(
      async ([path, method, body, type]) =>
        (await fetch(path, { method, body, headers: { 'Content-Type': type } })).status,
      [path, method, JSON.stringify(body), type] as const,
    )

  /** Has servers check the rights of each stream, as each 30 s. */
  function checkRights(): void {
    for (const server of servers) server.process.kill('SIGUSR2')
  }

  /** The next numbers begin here. */
  const LAST = '(select coalesce(max(id), 0) from tickets)'
  const INSERT = `insert into tickets (id, tenant, customer_id, title, status, priority, note, version, created_at, updated_at)`

  const HARMS: Readonly<Record<string, () => Promise<unknown>>> = {
    async 'tickets are created'() {
      const [first] = tabs
      for (const title of ['The printer is on fire', 'No sound']) {
        await first?.page.fill('[name=title]', title)
        await first?.page.getByRole('button', { name: 'Add' }).click()
        await first?.page.getByText(title).waitFor()
      }
    },
    async 'a ticket is moved, and another is closed'() {
      const [first, second] = tabs
      await first?.page.locator('article button').first().click()
      await second?.page.locator('[data-status=open] button').first().click()
      await second?.page.locator('[data-status=waiting] button').first().click()
    },
    'another program writes': () =>
      query(
        `${INSERT} select ${LAST} + n, 'north', case when n % 2 = 0 then 100 else 1 end, 'Ticket ' || n, 'open', 5, 'internal', 'v', now(), now() from generate_series(1, 10) n`,
      ),
    'tickets get another tenant': () =>
      query(`update tickets set tenant = 'south', customer_id = (select min(id) from customers
        where tenant = 'south') where title in ('Ticket 1', 'Ticket 2')`),
    async 'three hundred are patched at once'() {
      await query(`${INSERT} select ${LAST} + n, 'north', 100, 'Many ' || n,
        case when n % 5 = 0 then 'waiting' else 'closed' end, 5, 'internal', 'v', now(), now() from generate_series(1, 300) n`)
      expect(await request('/tickets?title[prefix]=Many', 'PATCH', { priority: 2 })).toBe(200)
    },
    async 'a batch writes'() {
      const operations = [
        { method: 'POST', path: '/tickets', body: { title: 'One of two', customer_id: 1 } },
        { method: 'POST', path: '/tickets', body: { title: 'Two of two', customer_id: 1 } },
      ]
      expect(await request('/batch', 'POST', operations)).toBe(200)
    },
    async 'a ticket is trashed, and restored'() {
      const [{ id = 0 } = {}] = await query(
        `select max(id) as id from tickets where tenant = 'north'`,
      )
      expect(await request(`/tickets/${id}`, 'DELETE')).toBe(200) // the item that it was
      await expectBoards()
      expect(await request(`/tickets/${id}/restore`, 'POST')).toBe(200)
    },
    'a foreign key deletes': () => query(`delete from customers where name = 'Bob'`),
    async 'the network of a tab is cut'() {
      lines[1]?.cut(true)
      lines[2]?.cut(true)
      await query(`update tickets set priority = 9, updated_at = now() where title like 'Ticket%'`)
      await query(`delete from tickets where title = 'Ticket 3'`)
      for (const at of [1, 2]) await expect.poll(() => lines[at]?.refused).toBeGreaterThan(0)
      for (const line of lines) line.cut(false)
    },
    async 'the network of a tab is cut for longer than the log is kept'() {
      lines[0]?.cut(true)
      await query(`delete from tickets where title = 'Ticket 5'`)
      await query(
        `update rest_changes set before = (select max(seq) from rest_changes)::text where seq = 0`,
      )
      await query('delete from rest_changes where seq > 0')
      lines[0]?.cut(false)
    },
    async 'a server is ended and starts again'() {
      await servers[0]?.ended('SIGTERM')
      await query(`delete from tickets where title = 'Ticket 7'`)
      await serve(0)
    },
    async 'a server is killed and starts again'() {
      await servers[1]?.ended('SIGKILL')
      await query(`update tickets set status = 'new' where title = 'Ticket 9'`)
      await serve(1)
    },
    async 'the database is killed and starts again'() {
      await postgres().crash()
      await postgres().start()
      await query(`update tickets set status = 'waiting' where title = 'Ticket 9'`)
    },
    async 'the sessions end, and are renewed'() {
      await query(`delete from sessions`)
      checkRights()
      // The client renews its own.
      for (const [at, person] of [
        [0, 'north-agent'],
        [1, 'north-agent'],
        [3, 'north-ann'],
      ] as const) {
        const url = `http://127.0.0.1:${await lines[at]?.port}/as/${person}`
        await expect.poll(async () => (await tabs[at]?.context.request.get(url))?.ok()).toBe(true)
      }
      await query(`delete from tickets where title = 'Ticket 9'`)
    },
  }

  test.each(Object.keys(HARMS))('%s: each board is the list', async name => {
    await HARMS[name]?.()
    await expectBoards()
    // Each tab goes on, and the customer has seen nothing of others.
    await query(
      `${INSERT} values (${LAST} + 1, 'north', 1, $1, 'new', 5, 'internal', 'v', now(), now())`,
      [name],
    )
    await expectBoards()
    for (const [at, { page }] of tabs.entries()) {
      const events = await page.evaluate<Event[]>('events')
      if (at === 3) expect(JSON.stringify(events)).not.toMatch(/internal|Many|"customer_id":[^1]/)
      expectForwards(events)
    }
  })

  test('an agent who has lost the role sees nothing more', async () => {
    // One sees the end of its stream; the others have lost theirs, and are refused when they come again.
    for (const line of lines.slice(1, 3)) line.cut(true)
    await query(`update people set role = 'former' where name = 'north-agent'`)
    checkRights()
    for (const line of lines) line.cut(false)
    const agents = tabs.slice(0, 3)
    for (const { page } of agents)
      await expect.poll(() => page.evaluate('tickets.size'), { timeout: 120_000 }).toBe(0)
    await query(
      `${INSERT} values (${LAST} + 1, 'north', 1, 'After', 'new', 5, 'internal', 'v', now(), now())`,
    )
    await tabs[3]?.page.getByText('After').waitFor()
    for (const { page } of agents) expect(await page.evaluate('tickets.size')).toBe(0)
  })
})

/** No event moves a board that is whole backwards. */
function expectForwards(events: readonly Event[]): void {
  const newest = new Map<number, string>()
  let isWhole = false
  for (const [name, data] of events) {
    if (name === 'ready') isWhole = true
    else if (name === 'reset') {
      isWhole = false
      newest.clear()
    }
    if (name !== 'items') continue
    for (const { id, updated_at } of data) {
      if (isWhole) expect(updated_at >= (newest.get(id) ?? '')).toBe(true)
      newest.set(id, updated_at)
    }
  }
}
