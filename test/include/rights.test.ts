// What is included is what the same principal would get from that collection: rules, rows, fields, hooks.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineApi,
  defineCollection,
  HttpError,
  memoryStore,
  type Scheme,
  type Store,
} from '../../src/index.ts'
import { fetchChecked } from '../handlers.ts'
import { usePostgres } from '../stores/postgres.ts'
import { DATABASES } from './shop.ts'

usePostgres()

/** Trusts any name, and the scopes after it: `ann a b`. */
const named: Scheme = {
  name: 'Name',
  challenge: () => 'Name',
  authenticate: async ({ headers }) => {
    const [id, ...scopes] = headers.authorization?.split(' ').slice(1) ?? []
    return id === undefined ? undefined : { id, scopes }
  },
}

/** Projects with tasks, which have comments; a budget that some see, plans that hide that they exist. */
async function open(store: () => Store) {
  const calls: string[] = []
  const note = (name: string) => () => {
    calls.push(name)
  }
  const projects = defineCollection({
    name: 'projects',
    id: 'integer',
    schema: z.object({ name: z.string(), owner: z.string(), pin: z.string(), budget: z.number() }),
    store: store(),
    fields: { pin: 'writeOnly', budget: { read: ['money'] } },
    visible: principal => (principal?.id === 'root' ? {} : principal && { owner: principal.id }),
    hooks: { before: { list: note('projects.list'), read: note('projects.read') } },
  })
  const tasks = defineCollection({
    name: 'tasks',
    id: 'integer',
    schema: z.object({ title: z.string(), project_id: z.int(), plan_id: z.int().optional() }),
    store: store(),
    parents: { project_id: 'projects' },
    references: { plan_id: 'plans' },
    access: { default: 'public', list: ['tasks'] },
    hooks: { before: { list: note('tasks.list') } },
  })
  const comments = defineCollection({
    name: 'comments',
    id: 'integer',
    schema: z.object({ text: z.string(), task_id: z.int() }),
    store: store(),
    parents: { task_id: 'tasks' },
    visible: { through: 'task_id' },
  })
  const plans = defineCollection({
    name: 'plans',
    id: 'integer',
    schema: z.object({ code: z.string() }),
    store: store(),
    access: { default: ['plans'] },
    hideExistence: true,
    hooks: {
      before: {
        read({ id }) {
          if (id === 2) throw new HttpError(403, [{ message: 'no' }])
        },
      },
    },
  })
  const api = defineApi({ collections: { projects, tasks, comments, plans }, schemes: [named] })
  const all = api.asSystem()
  for (const owner of ['ann', 'bob'])
    await all.collection(projects).create({ name: `of ${owner}`, owner, pin: '1', budget: 5 })
  for (const code of ['x', 'y']) await all.collection(plans).create({ code })
  for (const project_id of [1, 1, 2])
    await all
      .collection(tasks)
      .create({ title: `in ${project_id}`, project_id, plan_id: project_id })
  for (const task_id of [1, 3])
    await all.collection(comments).create({ text: `on ${task_id}`, task_id })
  calls.length = 0
  const get = async (path: string, who?: string, init?: Record<string, string>) => {
    const headers = new Headers(init)
    if (who !== undefined) headers.set('authorization', `Name ${who}`)
    const answer = await fetchChecked(api, new Request(`http://x/${path}`, { headers }))
    return { status: answer.status, text: await answer.text(), headers: answer.headers }
  }
  return { api, get, calls }
}

describe.each(Object.keys(DATABASES))('%s', name => {
  const start = async () => open((await DATABASES[name]?.()) ?? memoryStore)

  test('rows that the principal does not see are null, or absent', async () => {
    const { get } = await start()
    const tasks = await get('tasks?include=project&fields=id,project.name', 'ann tasks')
    expect(tasks.text).toBe(
      '[{"id":1,"project":{"name":"of ann"}},{"id":2,"project":{"name":"of ann"}},{"id":3,"project":null}]',
    )
    // Nothing is there in the place of what comes first.
    const last = await get('tasks?include=project&fields=id,project.name', 'bob tasks')
    expect(last.text).toBe(
      '[{"id":1,"project":null},{"id":2,"project":null},{"id":3,"project":{"name":"of bob"}}]',
    )
    const through = await get('tasks?include=comments&fields=id,comments.text', 'bob tasks')
    expect(through.text).toContain('{"id":1,"comments":[{"text":"on 1"}]}')
    const own = await get('projects?include=tasks&fields=name,tasks.id', 'bob tasks')
    expect(own.text).toBe('[{"name":"of bob","tasks":[{"id":3}]}]')
  })

  test('filters find nothing by what the principal does not see', async () => {
    const { get } = await start()
    const found = async (query: string, who: string) =>
      (await get(`tasks?${query}&fields=id`, who)).text.match(/\d+/g)?.join() ?? ''
    expect(await found('project.name[prefix]=of', 'ann tasks')).toBe('1,2')
    expect(await found('project.name[prefix]=of', 'root tasks')).toBe('1,2,3')
    expect(await found('project[exists]=false', 'ann tasks')).toBe('3')
    expect(await found('project.owner=bob', 'ann tasks')).toBe('')
    const count = await get('tasks/count?project.owner=bob', 'ann tasks')
    expect(count.text).not.toContain('1')
  })

  test('a total is no estimate where filters reach rows that the principal may not see', async () => {
    const { get } = await start()
    const counted = async (path: string) => {
      const { headers } = await get(path, 'ann tasks plans', { prefer: 'count=estimated' })
      return [headers.get('x-result-count'), headers.get('preference-applied')]
    }
    expect(await counted('tasks?plan.code=x')).toEqual(['2', 'count=estimated'])
    expect(await counted('tasks?project.name=of%20bob')).toEqual(['0', null])
    expect(await counted('comments?where={"not":{"task.project.name":"x"}}')).toEqual(['2', null])
    const prefer = { prefer: 'count=estimated' }
    const number = await get('tasks/count?project.name=of%20bob', 'ann tasks', prefer)
    expect([number.text, number.headers.get('preference-applied')]).toEqual(['{"count":0}', null])
  })

  test('field rules hold at each level, and write-only fields are nowhere', async () => {
    const { get } = await start()
    const path = 'tasks/1?include=project'
    const poor = await get(path, 'ann tasks')
    const rich = await get(path, 'ann tasks money')
    expect(poor.text).not.toContain('budget')
    expect(rich.text).toContain('"budget":5')
    expect(poor.text + rich.text).not.toContain('pin')
    expect(poor.headers.get('etag')).not.toBe(rich.headers.get('etag'))
    for (const query of [
      'project.budget=5',
      'project.pin=1',
      'include=project&fields=project.budget',
    ])
      expect((await get(`tasks?${query}`, 'ann tasks')).text).toMatch(/"type":"unknown_field"/)
    expect((await get('tasks?project.budget=5', 'ann tasks money')).status).toBe(200)
  })
})

test('a collection that the principal may not read is a 403, without credentials a 401', async () => {
  const { get } = await open(() => memoryStore())
  expect((await get('projects?include=tasks', 'ann')).status).toBe(403)
  expect((await get('projects/1?include=tasks', 'ann')).status).toBe(403)
  expect((await get('projects?tasks[exists]=true', 'ann')).status).toBe(403)
  expect((await get('projects?include=tasks', 'ann tasks')).status).toBe(200)
  expect((await get('tasks/1?include=project')).status).toBe(401)
  // To read it is enough for what an item refers to; a filter lists.
  expect((await get('comments?include=task', 'ann')).status).toBe(200)
  expect((await get('comments?task.title=x', 'ann')).status).toBe(403)
})

test('a collection that hides what exists is an unknown name, in every error', async () => {
  const { api, get } = await open(() => memoryStore())
  const same = async (path: string, made: string) => {
    const [hidden, unknown] = [
      await get(path, 'ann tasks'),
      await get(path.replaceAll('plan', made), 'ann tasks'),
    ]
    expect(hidden.status).toBe(400)
    // Both begin like `plan_id`, which the client may read.
    expect(hidden.text).toBe(unknown.text.replaceAll(new RegExp(`\\b${made}\\b`, 'g'), 'plan'))
  }
  await same('tasks?include=plan', 'pla')
  await same('tasks/1?include=plan', 'pla')
  await same('tasks?include=plan&limit=x&sort=y', 'pla')
  await same('tasks?plan.code=x', 'pla')
  await same('tasks?plan[exists]=true', 'pla')
  await same('projects?include=tasks.plan', 'pla')
  await same(`tasks?where=${encodeURIComponent('{"plan":{"code":"x"}}')}`, 'pla')
  expect((await get('tasks?include=pla', 'ann tasks')).text).not.toContain('plan')
  const allowed = await get('tasks?include=plan&fields=id,plan.code', 'ann tasks plans')
  expect(allowed.text).toBe(
    '[{"id":1,"plan":{"code":"x"}},{"id":2,"plan":{"code":"x"}},{"id":3,"plan":null}]',
  )
  const described = await get('openapi.json', 'ann tasks')
  const options = await api.fetch(new Request('http://x/tasks', { method: 'OPTIONS' }))
  for (const text of [described.text, await options.text()]) {
    expect(text).toContain('With include=project')
    expect(text).not.toContain('With include=plan')
  }
  expect((await get('openapi.json', 'ann plans')).text).toContain('With include=plan')
})

test('hooks run before what they guard: of a list once a level, of a read for each item', async () => {
  const { get, calls } = await open(() => memoryStore())
  await get('projects?include=tasks', 'root tasks')
  expect(calls).toEqual(['projects.list', 'tasks.list'])
  calls.length = 0
  await get('tasks?include=project&project.name[prefix]=of', 'root tasks')
  expect(calls).toEqual(['tasks.list', 'projects.list', 'projects.read', 'projects.read'])
})

test('in process a principal sees its own rows, and the system all', async () => {
  const { api } = await open(() => memoryStore())
  const names = async (
    calls: Pick<typeof api, 'collection'>,
    options?: { principal: { id: string } },
  ) => {
    const list = calls.collection('tasks').list({ include: ['project', 'plan'] }, options)
    return (await list.toArray()).map(({ project }) => project?.name)
  }
  expect(await names(api, { principal: { id: 'ann' } })).toEqual(['of ann', 'of ann', undefined])
  expect(await names(api.asSystem())).toEqual(['of ann', 'of ann', 'of bob'])
})

test('what is not offered cannot be included, and takes no filter', async () => {
  const notes = defineCollection({
    name: 'notes',
    id: 'integer',
    schema: z.object({ text: z.string(), log_id: z.int() }),
    store: memoryStore(),
    parents: { log_id: 'logs' },
    operations: ['create', 'read'],
  })
  const logs = defineCollection({
    name: 'logs',
    id: 'integer',
    schema: z.object({ name: z.string() }),
    store: memoryStore(),
    operations: ['list', 'create'],
  })
  const files = defineCollection({
    name: 'files',
    id: 'integer',
    schema: z.object({ note_id: z.int() }),
    store: memoryStore(),
    parents: { note_id: 'notes' },
  })
  const api = defineApi({ collections: { notes, logs, files } })
  await api.collection(logs).create({ name: 'a' })
  await api.collection(notes).create({ text: 'b', log_id: 1 })
  const get = async (path: string) => (await api.fetch(new Request(`http://x/${path}`))).text()
  expect(await get('logs?include=notes')).toContain('unknown_include')
  expect(await get('notes/1?include=log')).toContain('unknown_include')
  expect(await get('files?include=note')).toBe('[]')
  expect(await get('files?note.text=b')).toContain('cannot be listed')
  expect(await api.collection(logs).count({ notes: { text: 'b' } })).toBe(1)
  expect(
    (
      await api
        .collection(logs)
        .list({ include: ['notes'] })
        .first()
    )?.notes,
  ).toHaveLength(1)
})
