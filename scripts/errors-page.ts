// Prints docs/errors.md from the table of error types: `npm run docs:errors`.
import { STATUS_CODES } from 'node:http'
import { pathToFileURL } from 'node:url'
import { ERROR_TYPES } from '../src/errors.ts'

const HEAD = `# Errors

Every error response has this body, in the format that the client accepts:

\`\`\`json
{ "errors": [{ "message": "Unknown field \\"colour\\": did you mean color?", "code": 400, "field": "colour", "type": "unknown_field" }] }
\`\`\`

- \`message\` says what was wrong and what would be right. It is written for people and may change.
- \`code\` is the HTTP status.
- \`field\` is the dotted path of the property, or the name of the parameter or header at fault.
- \`type\` is one of the names below, or one of your own. It is stable: compare it in programs.

The option \`messages\` of \`defineApi\` replaces messages by type, in the language of the client for example. A
value is a text, or a function of the issue and the request; \`undefined\` keeps the message:

\`\`\`js
messages: {
  required: ({ field }, { headers }) =>
    headers['accept-language']?.startsWith('fr') ? \`\${field} est obligatoire\` : undefined,
}
\`\`\`

Messages of a schema's author are sent as they are. So are those of zod in the locale of \`z.config(z.locales.de())\`.

Clients that accept \`application/problem+json\` get RFC 9457 problem details with the same entries.
This page is made of the table in \`src/errors.ts\`.
`

export function printErrorsPage(): string {
  const sections = Object.entries(ERROR_TYPES).map(([status, types]) => {
    const rows = Object.entries(types).map(([type, meaning]) => `| \`${type}\` | ${meaning} |`)
    const title = `\n## ${status} ${STATUS_CODES[status]}\n`
    return [title, '| type | what happened, and what to do |', '|---|---|', ...rows, ''].join('\n')
  })
  return HEAD + sections.join('')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  process.stdout.write(printErrorsPage())
}
