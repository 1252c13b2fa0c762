import { memoryStore, type Store } from '../src/index.ts'

export interface Stores {
  storeFor(name: string): Store
  close(): Promise<void>
}

export function openStores(_database: string): Stores {
  return { storeFor: () => memoryStore(), close: async () => {} }
}
