// Lists of steps, built at definition and run for each write. The types know which fields are filled in by then:
// a step that needs another one does not compile.
import type { Awaitable } from '../../base/values.ts'
import type { FieldName, Write, WriteFields, WriteState } from './write-state.ts'

/** A step as it is run. */
export interface WriteStep {
  readonly name: string
  /** The statuses that it may end in. */
  readonly statuses: readonly number[]
  /** Gives the value of its field, or of a bracket the write to go on with. */
  readonly run: (write: WriteState, steps: readonly WriteStep[]) => Awaitable<unknown>
  /** The field that it fills in. */
  readonly field?: FieldName
  /** Whether the list ends where it gives something. */
  readonly ends?: boolean
  /** The steps of a bracket. */
  readonly steps?: readonly WriteStep[]
}

/** Runs steps within something: a key, a transaction, attempts. It gives the write that went through. */
export type Bracket<None = never> = (
  write: WriteState,
  steps: readonly WriteStep[],
) => Awaitable<WriteState | None>

/** Steps that are not needed are left out. */
type Optional<T> = T | false | undefined

type StepOf<Filled extends FieldName, T> = (write: Write<Filled>) => Awaitable<T>

const NO_STEPS: readonly WriteStep[] = []

/** Builds a list of steps. Its parameter names the fields that are filled in after its last one. */
export class Steps<Filled extends FieldName = never> {
  /** For the compiler alone: more filled fields are as good as few. */
  declare readonly filled: (name: Filled) => void
  readonly list: readonly WriteStep[]

  constructor(list: readonly WriteStep[] = NO_STEPS) {
    this.list = list
  }

  /** Checks something: the step throws, or the write goes on. */
  check(step: Optional<StepOf<Filled, void>>, ...statuses: readonly number[]): Steps<Filled> {
    return this.#add(step, { statuses })
  }

  /** Fills in a field. */
  set<Name extends FieldName>(
    field: Name,
    step: StepOf<Filled, WriteFields[Name]>,
    ...statuses: readonly number[]
  ): Steps<Filled | Name> {
    return this.#add(step, { field, statuses })
  }

  /** Fills in a field where there is something to fill in. */
  try<Name extends FieldName>(
    field: Name,
    step: Optional<StepOf<Filled, WriteFields[Name] | undefined>>,
    ...statuses: readonly number[]
  ): Steps<Filled> {
    return this.#add(step, { field, statuses })
  }

  /** Fills in fields of each of several items. */
  fill<Name extends FieldName>(
    step: StepOf<Filled, void>,
    ...statuses: readonly number[]
  ): Steps<Filled | Name> {
    return this.#add(step, { statuses })
  }

  /** Replaces the value of a field. */
  refine<Name extends Filled>(
    field: Name,
    step: Optional<StepOf<Filled, WriteFields[Name]>>,
    ...statuses: readonly number[]
  ): Steps<Filled> {
    return this.#add(step, { field, statuses })
  }

  /** Fills in a field and ends the list, where the step gives a value. */
  endWith<Name extends FieldName>(
    field: Name,
    step: Optional<StepOf<Filled, WriteFields[Name] | undefined>>,
    ...statuses: readonly number[]
  ): Steps<Filled> {
    return this.#add(step, { field, statuses, ends: true })
  }

  /** Goes on with other steps where a field is empty. */
  otherwise<Name extends FieldName>(
    field: Name,
    build: Optional<(steps: Steps<Filled>) => Steps>,
  ): Steps<Filled | Name> {
    if (!build) return new Steps(this.list)
    const otherwise: Bracket<void> = (write, steps) =>
      write[field] === undefined ? runSteps(steps, write) : undefined
    return this.#add(otherwise, { steps: build(new Steps()).list, ends: true })
  }

  /** Runs steps within a bracket; without one they are steps like the others. */
  within<Inner extends FieldName>(
    bracket: Optional<Bracket>,
    statuses: readonly number[],
    build: (steps: Steps<Filled>) => Steps<Inner>,
  ): Steps<Inner> {
    const { list } = build(new Steps())
    if (!bracket) return new Steps([...this.list, ...list])
    return this.#add(bracket, { statuses, steps: list })
  }

  /** The same with a bracket that runs them until one of them has stored something. */
  attempts<Inner extends FieldName>(
    bracket: Bracket,
    statuses: readonly number[],
    build: (steps: Steps<Filled>) => Steps<Inner>,
  ): Steps<Inner | 'stored'> {
    return this.#add(bracket, { statuses, steps: build(new Steps()).list })
  }

  /** Runs the steps of a whole list. */
  run(write: WriteState): Awaitable<Write<Filled>> {
    return runSteps(this.list, write) as Awaitable<Write<Filled>> // the methods above have checked it
  }

  #add<Next extends FieldName>(
    step: Optional<(write: never, steps: readonly WriteStep[]) => Awaitable<unknown>>,
    more: Partial<WriteStep>,
  ): Steps<Next> {
    if (!step) return new Steps(this.list)
    // The methods above have checked that the fields it needs are filled in by then.
    const run = step as WriteStep['run']
    return new Steps([...this.list, { name: step.name, statuses: [], ...more, run }])
  }
}

/** Runs steps in their order; waits only for those that give a promise. */
export function runSteps(
  steps: readonly WriteStep[],
  write: WriteState,
  from = 0,
): Awaitable<WriteState> {
  let current = write
  for (let at = from; at < steps.length; at++) {
    const step = steps[at] as WriteStep // the index is within the list
    const value = step.run(current, step.steps ?? NO_STEPS)
    if (value instanceof Promise) return resume(value, step, steps, at, current)
    current = fillIn(step, current, value)
    if (step.ends && value !== undefined) return current
  }
  return current
}

/** Waits for a step, and runs those behind it. */
async function resume(
  value: Promise<unknown>,
  step: WriteStep,
  steps: readonly WriteStep[],
  at: number,
  write: WriteState,
): Promise<WriteState> {
  const settled = await value
  const next = fillIn(step, write, settled)
  return step.ends && settled !== undefined ? next : runSteps(steps, next, at + 1)
}

function fillIn({ steps, field }: WriteStep, write: WriteState, value: unknown): WriteState {
  if (value === undefined) return write
  if (steps) return value as WriteState // of a bracket
  if (field) write[field] = value as never // `Steps` has checked its type
  return write
}
