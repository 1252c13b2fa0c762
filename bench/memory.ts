// What the memory benches share: a process that is watched while it serves, and the goal.
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { askProcess, child } from './processes.ts'

/** The most that work may take above idle, in bytes. */
export const GOAL = 64 * 1024 * 1024

export interface Watched {
  readonly process: ChildProcess
  /** What the process said when it was ready. */
  readonly port: number
  /**
   * Runs some work and gives the most memory meanwhile, in bytes of resident size above what the
   * process had idle, before the first.
   */
  watch<T>(work: () => Promise<T>): Promise<{ readonly most: number; readonly result: T }>
  /** Asks the process a question; it answers with what the caller asked for. */
  ask<T>(question: string): Promise<T>
}

/** Starts a module as a process of its own, which sends `{ port }` once it serves. */
export async function watched(
  file: string,
  args: readonly string[],
  core?: number,
): Promise<Watched> {
  const { process: server, port } = await child(file, args, core)
  const ask = <T>(question: string) => askProcess<T>(server, question)
  let idle: number | undefined
  return {
    process: server,
    port,
    ask,
    async watch(work) {
      await ask('collect')
      idle ??= residentOf(server.pid)
      let most = idle
      const timer = setInterval(() => {
        most = Math.max(most, residentOf(server.pid))
      }, 20)
      try {
        const result = await work()
        return { most: Math.max(most, residentOf(server.pid)) - idle, result }
      } finally {
        clearInterval(timer)
      }
    },
  }
}

/** The resident size of a process in bytes: Linux only. */
export function residentOf(pid: number | undefined): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1]) * 1024
}

export async function inDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'memory-'))
  try {
    return await work(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Prints one figure; where it is above the goal the bench fails. */
export function report(what: string, most: number, seconds: number): void {
  const good = most < GOAL
  if (!good) process.exitCode = 1
  const size = `${(most / 1024 / 1024).toFixed(1)} MiB above idle`
  console.log(`${good ? 'ok  ' : 'MORE'} ${what}: ${size}, ${seconds.toFixed(1)} s`)
}
