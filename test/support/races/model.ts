/** A run as callers see it; `Active` is queued or in progress. */
export interface ModelRun {
  readonly number: number
  readonly status: 'Active' | 'Processed' | 'Cancelled'
  readonly revision: number
  /** The findings of its files, all of them errors. */
  readonly errors: number
  /** Whether it ended longer ago than results are kept. */
  readonly isOld: boolean
}

/** A submission with one file, whose every operation happens at once. */
export interface State {
  readonly ended: 'Submitted' | 'Cancelled' | undefined
  /** The records by their ids; absent if there is no file. */
  readonly records: ReadonlyMap<string, string> | undefined
  /** Whether the name of a column of the file can be repaired. */
  readonly isRepairable: boolean
  /** The tag of the file before its repair, while that can be undone. */
  readonly previous: string | undefined
  /** The number of the step that has repaired the file as it is; -1 if none of the race has. */
  readonly repairedBy: number
  /** Whether the file was built from records, not uploaded. */
  readonly isBuilt: boolean
  /** Identifies the state of the file. */
  readonly tag: string
  readonly revision: number
  /** Oldest first. */
  readonly runs: readonly ModelRun[]
  readonly requested: number
  /** The number of the current run, if there is one. */
  readonly current: number | undefined
  /** Whether the file was last changed, and the submission ended, longer ago than files are kept. */
  readonly isOld: boolean
  /** Whether the return has another open submission. */
  readonly hasSuccessor: boolean
  /** The runs that workers hold, by the number of their step. */
  readonly held: ReadonlyMap<number, number>
  /** The runs that a step has listed, to change them later, by the number of the step. */
  readonly listed: ReadonlyMap<number, readonly number[]>
}

export const NEW: State = {
  ended: undefined,
  records: undefined,
  isRepairable: false,
  previous: undefined,
  repairedBy: -1,
  isBuilt: false,
  tag: '',
  revision: 0,
  runs: [],
  requested: 0,
  current: undefined,
  isOld: false,
  hasSuccessor: false,
  held: new Map(),
  listed: new Map(),
}

/** What happens at once; `response` is absent if nobody gets one. */
interface Outcome {
  readonly state: State
  readonly response?: string
  /** Another response that is as right. */
  readonly alternative?: string
}

/** @param step the number of the step that it is part of */
export type Atom = (state: State, step: number) => Outcome

export const BAD = 'bad'

function countErrors(records: ReadonlyMap<string, string> | undefined): number {
  return [...(records?.values() ?? [])].filter((value) => value.startsWith(BAD)).length
}

function statusOf({ ended, runs, current, revision }: State): string {
  if (ended !== undefined) return ended
  const last = runs.at(-1)
  if (last?.status === 'Active') return 'Validating'
  if (current === undefined) return 'Pending'
  const isCovered = last === undefined || (last.number === current && last.revision === revision)
  return isCovered ? 'Validated' : 'Pending'
}

export function showRun(
  { number, status, errors }: Pick<ModelRun, 'number' | 'status' | 'errors'>,
  current?: number,
): string {
  const found = status === 'Processed' ? ` ${errors}` : ''
  return `run ${number} ${status}${found}${number === current ? ', current' : ''}`
}

/** The state as responses about the submission show it. */
function showState(state: State): string {
  const status = statusOf(state)
  if (status === 'Cancelled') return status
  const last = state.runs.at(-1)
  const file = state.records === undefined ? 'no file' : `${state.records.size} records`
  return `${status}, ${file}, ${last === undefined ? 'no run' : showRun(last, state.current)}`
}

/** The state, the file and the number of current findings. */
export function showAll(state: State): string {
  if (state.ended === 'Cancelled') return 'Cancelled'
  const records = [...(state.records ?? [])].map(([id, value]) => `${id}=${value}`).sort()
  const found = state.runs.find(({ number }) => number === state.current)?.errors ?? 0
  return `${showState(state)}; ${records.join(' ')}; ${found} findings`
}

const respond = (state: State, response: string): Outcome => ({ state, response })

/** 410 for a cancelled submission and 409 for a submitted one. */
function refuseEnded({ ended }: State): string | undefined {
  return ended === 'Cancelled' ? '410' : ended === 'Submitted' ? '409' : undefined
}

function changeFile(state: State, records: ReadonlyMap<string, string>, tag: string): State {
  const revision = state.revision + 1
  const unrepaired = { isRepairable: false, previous: undefined, repairedBy: -1 }
  return { ...state, records, tag, revision, ...unrepaired, isOld: false }
}

const activeRun = ({ runs }: State) => runs.findLast(({ status }) => status === 'Active')

function changeRun(state: State, number: number, change: Partial<ModelRun>): State {
  return { ...state, runs: state.runs.map((run) => (run.number === number ? { ...run, ...change } : run)) }
}

export const create: Atom = (state) => {
  if (state.ended === undefined) return respond(state, `200 same, ${showState(state)}`)
  if (state.hasSuccessor) return respond(state, '200 other')
  return respond({ ...state, hasSuccessor: true }, '201 other')
}

/** @param wanted the tags that the file may have; `none` if there must be no file */
export const put =
  (records: ReadonlyMap<string, string>, tag: string, wanted?: string, isRepairable = false): Atom =>
  (state) => {
    const refused = refuseEnded(state)
    if (refused !== undefined) return respond(state, refused)
    const actual = state.records === undefined ? 'none' : state.tag
    if (wanted !== undefined && wanted !== actual) return respond(state, '412')
    return respond(
      { ...changeFile(state, records, tag), isBuilt: false, isRepairable },
      `200 ${records.size}`,
    )
  }

export const repair: Atom = (state, step) => {
  const refused = refuseEnded(state)
  if (refused !== undefined) return respond(state, refused)
  const { records, tag, isRepairable } = state
  if (records === undefined) return respond(state, '404')
  // Who asks for a repair that is going on shares it.
  if (!isRepairable)
    return { ...respond(state, '200 0'), ...(state.repairedBy >= 0 && { alternative: '200 1' }) }
  const repaired = changeFile(state, records, `${tag} repaired`)
  return respond({ ...repaired, previous: tag, repairedBy: step }, '200 1')
}

export const undo: Atom = (state) => {
  const refused = refuseEnded(state)
  if (refused !== undefined) return respond(state, refused)
  if (state.previous === undefined) return respond(state, '409')
  const restored = changeFile(state, state.records ?? new Map(), state.previous)
  return respond({ ...restored, isRepairable: true }, '200 1')
}

/** The records of an uploaded file do not change. */
const isUploaded = ({ records, isBuilt }: State) => records !== undefined && !isBuilt

export const add =
  (id: string, value: string): Atom =>
  (state) => {
    const refused = refuseEnded(state)
    if (refused !== undefined) return respond(state, refused)
    if (isUploaded(state)) return respond(state, '409')
    const records = new Map(state.records)
    records.set(id, value)
    const changed = changeFile(state, records, `${state.tag}+${value}`)
    return respond({ ...changed, isBuilt: true }, '200 known')
  }

export const remove =
  (id: string): Atom =>
  (state) => {
    const refused = refuseEnded(state)
    if (refused !== undefined) return respond(state, refused)
    if (isUploaded(state)) return respond(state, '409')
    const records = new Map(state.records)
    if (!records.delete(id)) return respond(state, '200 unknown')
    return respond(changeFile(state, records, `${state.tag}-${id}`), '200 known')
  }

export const request: Atom = (state) => {
  const refused = refuseEnded(state)
  if (refused !== undefined) return respond(state, refused)
  const active = activeRun(state)
  if (active !== undefined) return respond(state, `202 ${showRun(active)}`)
  if (state.records === undefined) return respond(state, '400')
  const run: ModelRun = {
    number: state.requested + 1,
    status: 'Active',
    revision: state.revision,
    errors: countErrors(state.records),
    isOld: false,
  }
  return respond({ ...state, requested: run.number, runs: [...state.runs, run] }, `202 ${showRun(run)}`)
}

export const cancelRun =
  (number: number): Atom =>
  (state) => {
    if (state.ended === 'Cancelled') return respond(state, '410')
    const run = state.runs.find((each) => each.number === number)
    if (run === undefined) return respond(state, '404')
    const ended = run.status === 'Active' ? ({ ...run, status: 'Cancelled' } as const) : run
    return respond(changeRun(state, number, ended), `200 ${showRun(ended, state.current)}`)
  }

export const submit: Atom = (state) => {
  if (state.ended === 'Submitted') return respond(state, `200 ${showState(state)}`)
  if (state.ended === 'Cancelled') return respond(state, '410')
  const run = state.runs.find(({ number }) => number === state.current)
  const isAllowed =
    activeRun(state) === undefined && run !== undefined && run.revision === state.revision && run.errors === 0
  if (!isAllowed) return respond(state, '409')
  const submitted = { ...state, ended: 'Submitted', previous: undefined, isOld: false } as const
  return respond(submitted, `200 ${showState(submitted)}`)
}

export const reopen: Atom = (state) => {
  if (state.ended === 'Cancelled') return respond(state, '410')
  if (state.ended !== 'Submitted' || state.hasSuccessor) return respond(state, '409')
  const reopened: State = { ...state, ended: undefined, isOld: false }
  return respond(reopened, `200 ${showState(reopened)}`)
}

export const cancel: Atom = (state) => {
  const active = activeRun(state)
  const stopped = active === undefined ? state : changeRun(state, active.number, { status: 'Cancelled' })
  return respond({ ...stopped, ended: 'Cancelled', isOld: false }, '200 Cancelled')
}

const listActive: Atom = (state, step) => {
  const active = activeRun(state)
  if (active === undefined) return { state }
  return { state: { ...state, listed: new Map([...state.listed, [step, [active.number]]]) } }
}

const cancelListed: Atom = (state, step) => {
  const active = activeRun(state)
  if (active === undefined || state.listed.get(step)?.includes(active.number) !== true) return { state }
  return { state: changeRun(state, active.number, { status: 'Cancelled' }) }
}

/** What the suspension of an organisation does with a submission. */
export const SUSPENSION: readonly Atom[] = [listActive, cancelListed]

/** A worker claims the run that waits, and stores its result later. */
export const claimRun: Atom = (state, step) => {
  const active = activeRun(state)
  if (active === undefined || [...state.held.values()].includes(active.number)) return { state }
  return { state: { ...state, held: new Map([...state.held, [step, active.number]]) } }
}

export const completeRun: Atom = (state, step) => {
  const number = state.held.get(step)
  const run = state.runs.find((each) => each.number === number)
  if (run?.status !== 'Active') return { state }
  return { state: { ...changeRun(state, run.number, { status: 'Processed' }), current: run.number } }
}

export const publish =
  (errors: number): Atom =>
  (state) => {
    if (refuseEnded(state) !== undefined) return respond(state, 'refused')
    const number = state.requested + 1
    // It has read no files.
    const run: ModelRun = { number, status: 'Processed', revision: -1, errors, isOld: false }
    return respond({ ...state, requested: number, runs: [...state.runs, run], current: number }, 'published')
  }

/** Time passes: from here on, everything so far is older than it is kept. */
export const age: Atom = (state) => ({
  state: { ...state, isOld: true, runs: state.runs.map((run) => ({ ...run, isOld: true })) },
})

const expireFiles: Atom = (state) => {
  const isKept = !state.isOld || state.records === undefined || activeRun(state) !== undefined
  if (isKept) return { state }
  return { state: { ...changeFile(state, new Map(), ''), records: undefined } }
}

const expireResults: Atom = (state) => {
  const isKept = state.runs.some(({ isOld, status }) => !isOld || status === 'Active')
  return isKept ? { state } : { state: { ...state, runs: [], current: undefined } }
}

/** What a sweep does, in this order. */
export const EXPIRY: readonly Atom[] = [expireFiles, expireResults]

/** A step as it was observed. */
export interface Observed {
  readonly atoms: readonly Atom[]
  /** Whether its parts may also have no effect, because it is repeated later. */
  readonly optional: boolean
  readonly response: string | undefined
}

/** Whether some serial order of the steps gives their responses and the state at the end. */
export function isSerial(start: State, steps: readonly Observed[], end: string): boolean {
  const search = (state: State, done: readonly number[]): boolean => {
    if (steps.every(({ atoms }, index) => done[index] === atoms.length)) return showAll(state) === end
    return steps.some(({ atoms, optional, response }, index) => {
      const atom = atoms[done[index] ?? 0]
      if (atom === undefined) return false
      const next = done.map((count, each) => (each === index ? count + 1 : count))
      const { state: after, response: expected, alternative = expected } = atom(state, index)
      const fits = expected === undefined || response === expected || response === alternative
      return (fits && search(after, next)) || (optional && search(state, next))
    })
  }
  return search(
    start,
    steps.map(() => 0),
  )
}
