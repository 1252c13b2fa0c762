// The entry point `rest-conventions/testing`: the contract of a store, for any test runner.
export { type StoreCase, storeCases } from './store-cases.ts'
