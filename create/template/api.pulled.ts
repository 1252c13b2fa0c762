import { defineApi } from 'rest-conventions'
import { html } from 'rest-conventions/html'
import { api as pulled } from './collections.ts'

// Everybody may write: add schemes before you publish it.
// https://github.com/rest-conventions/rest-conventions/blob/main/docs/auth.md
export const api = defineApi({ collections: pulled.collections, pages: html, health: true })
