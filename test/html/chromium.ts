// The browser of this machine, and how it is started.
import { existsSync } from 'node:fs'

export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
export const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Without a browser its tests cannot run: a machine of ours must have one. */
export const isMissing = !existsSync(CHROMIUM)
if (isMissing && process.env.CI === 'true') throw new Error(`There is no Chromium at ${CHROMIUM}`)
if (isMissing) console.warn(`Skipped: there is no Chromium at ${CHROMIUM}`)
