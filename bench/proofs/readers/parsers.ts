// Parsers of documents: that of Readme, and that of Scalar.
import { load, report } from './common.ts'

interface Readme {
  validate(document: unknown): Promise<{ readonly valid: boolean }>
  compileErrors(result: unknown): string
}

interface Scalar {
  validate(document: unknown): Promise<{ readonly errors?: readonly unknown[] }>
}

const readme = await load<Readme>('@readme/openapi-parser')
const scalar = await load<Scalar>('@scalar/openapi-parser')

export async function parse(title: string, document: object): Promise<void> {
  const result = await readme.validate(structuredClone(document))
  report(`readme, ${title}`, result.valid ? [] : [readme.compileErrors(result)])
  const { errors = [] } = await scalar.validate(structuredClone(document))
  report(
    `scalar, ${title}`,
    errors.map(error => JSON.stringify(error)),
  )
}
