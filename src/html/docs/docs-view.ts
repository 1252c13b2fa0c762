// Where a page of documentation is, and what its reader has chosen.

import { memoize } from '../../base/memoize.ts'
import { listRoutes, toUriTemplate } from '../../model/compile/routes.ts'
import type { ApiDefinition } from '../../model/types/definition.ts'
import { DOCS_PATH, OPENAPI_PATH, TRY_PATH } from '../../openapi/document.ts'
import type { RequestContext } from '../../operations/calls/context.ts'
import { findInputFields } from '../pages/build-page-view.ts'
import { chooseCredentials } from './docs-samples.ts'

/** Finds the routes of an api by their templates, once: each page looks for several. */
const findRoutes = memoize(
  ({ versions }: ApiDefinition) =>
    new Map([...listRoutes(versions)].map(route => [toUriTemplate(route.pattern), route])),
)

export type DocsView = ReturnType<typeof buildDocsView>

/** @param root the path of the described version below the api. */
export function buildDocsView(root: string, context: RequestContext) {
  const { api, base, parameters } = context
  const path = new URL(base).pathname.replace(/\/$/, '')
  const values = new Map(parameters.map(({ name, value }) => [name, value]))
  const find = (path: string, method: string) => {
    const { target, methods } = findRoutes(api).get(path) ?? {}
    const name = methods?.get(method)
    return target && target.kind !== 'root' && name !== undefined ? { target, name } : undefined
  }
  return {
    /** The path of the first page, without a slash at its end; `?collection=` is a collection's page. */
    href: path + root + DOCS_PATH,
    /** The path and the address of the api's root, without a slash at their end. */
    base: path,
    url: base.replace(/\/$/, ''),
    openapi: path + root + OPENAPI_PATH,
    /** Where forms send requests that are tried. */
    tryPath: path + root + TRY_PATH,
    /** The option of curl for credentials; absent without schemes. */
    credentials: chooseCredentials(api.schemes),
    /** The collection of the page; absent for the first page. */
    tag: values.get('collection'),
    /** The parameters of the page's query. */
    values,
    /** Finds the name of the operation or action at a path of the document; `undefined` where it is of no collection. */
    findName: (path: string, method: string) => find(path, method)?.name,
    /** Finds the fields of a form for the operation at a path of the document; `undefined` without input. */
    findFields(path: string, method: string) {
      const found = find(path, method)
      return found && findInputFields(context.viewTarget(found.target), found.name)
    },
  }
}
