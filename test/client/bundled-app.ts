// An app for a browser, as users build it: bundled with the code of the documentation, and served as one page.
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { serve } from './line.ts'

const PAGE =
  '<!doctype html><meta charset="utf-8"><div id="root"></div><script src="/app.js"></script>'

/**
 * Bundles the `app.jsx` of a folder.
 * @param own the name and the text of the module that it imports beside its packages.
 * @param alias files that stand for packages.
 */
export async function bundleApp(
  folder: string,
  own: readonly [name: string, text: string],
  alias: Readonly<Record<string, string>> = {},
): Promise<string> {
  // Among its packages, so that these are found.
  const inside = await mkdtemp(join(folder, 'node_modules', '.run-'))
  const entry = join(inside, 'app.jsx')
  try {
    await cp(join(folder, 'app.jsx'), entry)
    await writeFile(join(inside, own[0]), own[1])
    const { outputFiles } = await build({
      entryPoints: [entry],
      alias,
      bundle: true,
      write: false,
      jsx: 'automatic',
      minify: true,
      define: { 'process.env.NODE_ENV': '"production"' },
    })
    return outputFiles[0]?.text ?? ''
  } finally {
    await rm(inside, { recursive: true })
  }
}

/** Serves the page of a bundled app. */
export const serveApp = (script: string) =>
  serve((request, response) => {
    const isScript = request.url === '/app.js'
    response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? script : PAGE)
  })
