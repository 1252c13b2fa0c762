// A reader who searches the guides for the usual word finds it in a heading, or in the first sentence below one.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sectionsOf } from './markdown.ts'

/** What users of other libraries ask for: of each question its words, all of which stand in one place. */
const WORDS: readonly string[] = [
  ...[
    'soft delete',
    'trash',
    'restore',
    'upsert',
    'multi-tenant',
    'upload limit',
    'CORS',
    'cookies',
  ],
  ...['transactions', 'migrations', 'custom route', 'error shape', 'disable an operation'],
  ...[
    'computed fields',
    'default sort',
    'case-insensitive',
    'full-text search',
    'i18n',
    'CDN',
    'cron',
  ],
  ...['seed data', 'testing', 'mock', 'pagination', 'rename a field', 'nested writes', 'realtime'],
  ...[
    'WebSocket',
    'GraphQL',
    'monorepo',
    'Next.js',
    'SvelteKit',
    'Nuxt',
    'Astro',
    'Remix',
    'Lambda',
  ],
  ...[
    'Vercel',
    'Netlify',
    'Cloudflare Workers',
    'D1',
    'Docker',
    'Compose',
    'Kubernetes',
    'logging',
  ],
  ...['pino', 'access log', 'NestJS', 'MySQL', 'MongoDB', 'Prisma', 'Drizzle', 'zod 3', 'Valibot'],
  ...[
    'camelCase',
    'createdAt',
    '/me',
    '/settings',
    'singleton',
    'slug',
    'composite key',
    'composite unique',
  ],
  ...[
    'many-to-many',
    'trees',
    'polymorphic',
    'envelope',
    'private files',
    'presigned',
    'thumbnails',
  ],
  ...['rate limit', 'CSRF', 'sign-up', 'password reset', 'API keys', 'roles', 'RBAC', 'versions'],
  ...[
    'deprecation',
    'webhooks',
    'audit',
    'history',
    'import CSV',
    'export',
    'Swagger UI',
    'compression',
  ],
  ...['gzip', 'upgrade', 'roadmap', 'support', 'CRUD', 'bulk', 'populate', 'optimistic locking'],
  ...['metrics', 'time zone', 'enum', 'SSR'],
]

const root = join(import.meta.dirname, '..')
const guides = (await readdir(join(root, 'docs'))).filter(name => name.endsWith('.md'))
const pages = await Promise.all(
  ['README.md', ...guides.map(name => `docs/${name}`)].map(path =>
    readFile(join(root, path), 'utf8'),
  ),
)
const places = pages.flatMap(sectionsOf).flatMap(({ heading, first }) => [heading, first])

it.each(WORDS)('%s', word => {
  const words = new RegExp(`(?<![\\p{L}\\p{N}])${word}(?:s|es)?(?![\\p{L}\\p{N}])`, 'iu')
  expect(places.filter(place => words.test(place)).length).toBeGreaterThan(0)
})
