// A server of S3's real protocol for one test file, on files of its own.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { S3Client } from '@aws-sdk/client-s3'
import S3rver from 's3rver'
import { afterAll, beforeAll } from 'vitest'

/** Filled in before the first test. */
export interface Service {
  /** For files of the tests, too. */
  folder: string
  port: number
  client: S3Client
}

/** Serves buckets until the tests of the file have ended. */
export function useBuckets(...names: readonly string[]): Service {
  const service = {} as Service // before the first test nobody reads it
  let server: S3rver
  beforeAll(async () => {
    service.folder = await mkdtemp(join(tmpdir(), 'blobs-'))
    server = new S3rver({
      port: 0,
      silent: true,
      directory: join(service.folder, 's3'),
      configureBuckets: names.map(name => ({ name })),
    })
    service.port = (await server.run()).port
    service.client = new S3Client({
      region: 'us-east-1',
      endpoint: `http://127.0.0.1:${service.port}`,
      forcePathStyle: true,
      credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
      // This server knows no checksums in trailers.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    })
  })
  afterAll(async () => {
    service.client.destroy()
    await server.close()
    await rm(service.folder, { recursive: true })
  })
  return service
}
