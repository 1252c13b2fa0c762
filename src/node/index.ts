// The entry point `rest-conventions/node`: what a node:http server around the api needs.
export { type HardenOptions, harden } from './harden.ts'
export { type ShutDownOptions, shutDown } from './shut-down.ts'
