// The entry point `rest-conventions/html`: every resource as a page for browsers.
export type { PageRequest, Pages } from '../operations/calls/context.ts'
export { html } from './html.ts'
export { buildPageView } from './pages/build-page-view.ts'
export type { FormAction, PageLink, PageView } from './pages/page-view.ts'
