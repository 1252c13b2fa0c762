// xmllint (libxml2) as a judge of documents, where it is installed.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export function hasXmllint(): boolean {
  try {
    execFileSync('xmllint', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    console.warn('xmllint is not installed: whether documents are well-formed is NOT shown by it')
    return false
  }
}

/** What xmllint has to say about documents; empty where all are well-formed. */
export function lint(documents: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'xml-'))
  try {
    const files = documents.map((document, at) => {
      const file = join(folder, `${at}.xml`)
      writeFileSync(file, document)
      return file
    })
    execFileSync('xmllint', ['--noout', '--nonet', '--huge', ...files], { stdio: 'pipe' })
    return ''
  } catch (error) {
    return String(error)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
