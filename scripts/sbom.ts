// What is in the package, as a bill of materials (CycloneDX 1.6): what it depends on, and what is bundled into it.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** The packages whose code stands in a chunk: see bundle.ts. */
const BUNDLED = ['busboy', 'streamsearch']

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly licenses?: readonly { readonly type: string }[]
  readonly dependencies: Readonly<Record<string, string>>
}

const readManifest = async (folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(`${ROOT}${folder}package.json`, 'utf8'))

/** Writes the bill. It holds no time and no random number: the same sources give the same file. */
export async function writeSbom(path: string): Promise<void> {
  const own = await readManifest('')
  const names = [...Object.keys(own.dependencies), ...BUNDLED].sort()
  const parts = await Promise.all(names.map(name => readManifest(`node_modules/${name}/`)))
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: describe(own) },
    components: parts.map(part => ({
      ...describe(part),
      properties: [{ name: 'bundled', value: String(BUNDLED.includes(part.name)) }],
    })),
    dependencies: [{ ref: refOf(own), dependsOn: parts.map(refOf) }],
  }
  await writeFile(path, `${JSON.stringify(bill, undefined, 2)}\n`)
}

const refOf = ({ name, version }: Manifest) => `pkg:npm/${name}@${version}`

function describe(manifest: Manifest) {
  const { name, version, license = manifest.licenses?.[0]?.type ?? 'MIT' } = manifest
  const ref = refOf(manifest)
  return {
    type: 'library',
    ...{ 'bom-ref': ref, name, version, purl: ref, licenses: [{ license: { id: license } }] },
  }
}
