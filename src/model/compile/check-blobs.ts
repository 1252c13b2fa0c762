// The binary properties of a collection, and where their contents live.

import type { BlobStore } from '../../blobs/blob-store.ts'
import { assertValid } from '../../options.ts'
import { listBlobFields } from '../../schema/blob.ts'
import type { Fields } from '../../schema/fields.ts'
import { isDetected, listDetectedTypes } from '../../schema/media-type.ts'
import type { Declaration } from '../types/declaration.ts'

/** Checks the binary properties, and returns where their contents live: nowhere without such properties. */
export function checkBlobs(
  { name, blobs, actions = {} }: Declaration,
  fields: Fields,
): BlobStore | undefined {
  const names = listBlobFields(fields)
  for (const blob of names) {
    const where = `${name}: "${blob}" is a blob()`
    const twin = [`${blob}_url`, `${blob}_data`].find(other => fields.has(other))
    const isAction = actions[blob]?.on === 'item'
    assertValid(blobs, `${where}; say where contents live: blobs: fileBlobs('…')`)
    assertValid(!twin, `${where}, whose address or content is "${twin}": rename that property`)
    assertValid(!isAction, `${where}, and its content has the path of an action: rename the action`)
    // Not by blob(): a page that imports it would have the table of types.
    const type = fields.get(blob)?.accept?.find(each => !isDetected(each))
    assertValid(
      !type,
      `${where} that accepts "${type}", which the server cannot tell from the bytes of a file. Use one of ${listDetectedTypes().join(', ')}, or a range of them, such as image/*.`,
    )
  }
  return names.length > 0 ? blobs : undefined
}
