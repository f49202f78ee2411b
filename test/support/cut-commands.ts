import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Outcome } from './command.ts'
import { toLines } from './command.ts'
import type { Random } from './random.ts'
import type { State } from './state.ts'

/** The commands that are cut. */
export const CUT_COMMANDS = ['import', 'publish', 'key', 'export'] as const
export type CutCommand = (typeof CUT_COMMANDS)[number]

/** Which state a cut has left. */
export type Left = 'old' | 'new'

/** A command that is about to be cut, and what may have become of the database then. */
interface Attempt {
  readonly parameters: readonly string[]
  /** Whether the command has told that it is done, whatever its exit status. */
  acknowledged(outcome: Outcome): boolean
  /** Fails unless the state after is the old one or the new one, whole. Nothing else may have changed either. */
  judge(before: State, after: State, outcome: Outcome): Left
}

/** How much the commands have to do. */
interface Sizes {
  readonly records: number
  readonly entries: number
}

/** Makes attempts of each kind, one after the other, on one database. */
export class Attempts {
  readonly #folder: string
  readonly #random: Random
  readonly #sizes: Sizes
  #count = 0

  constructor(folder: string, random: Random, sizes: Sizes) {
    this.#folder = folder
    this.#random = random
    this.#sizes = sizes
  }

  make(command: CutCommand, before: State): Attempt {
    this.#count++
    switch (command) {
      case 'import':
        return this.#import(before)
      case 'publish':
        return this.#publish(before)
      case 'key':
        return this.#createKey()
      case 'export':
        return this.#export(before)
    }
  }

  /** A catalogue that has lost some of the old records, changed some, kept some and gained some. */
  #import(before: State): Attempt {
    const contents = new Map<string, string>()
    for (let number = 0; number < this.#sizes.records; number++) {
      if (this.#random.chance(0.15)) continue
      const code = `C${String(number).padStart(5, '0')}`
      const old = before.catalogue.get(code)
      const keep = old !== undefined && this.#random.chance(0.4)
      contents.set(code, keep ? withoutDate(old) : JSON.stringify(this.#record(code)))
    }
    this.#write('next.ndjson', [...contents.values()].map((content) => `${content}\n`).join(''))
    return {
      parameters: ['occupations', 'import', '--replace', '--json', 'next.ndjson'],
      acknowledged: isJson,
      judge: (old, now, outcome) => {
        expectSame(now, old, ['keys', 'submissions'])
        if (
          isSameMap(now.catalogue, old.catalogue) &&
          now.revisions.catalogue.number === old.revisions.catalogue.number
        )
          return 'old'
        const date = [...now.catalogue.values()].map(dateOf).sort().at(-1) ?? ''
        const expected = [...contents].map(([code, content]): [string, string] => {
          const unchanged = old.catalogue.get(code)
          if (unchanged !== undefined && withoutDate(unchanged) === content) return [code, unchanged]
          return [code, `${content.slice(0, -1)},"lastUpdatedDate":"${date}"}`]
        })
        expect(isSameMap(now.catalogue, new Map(expected)), 'the catalogue is neither old nor new').toBe(true)
        expect(now.revisions.catalogue.number).toBe(old.revisions.catalogue.number + 1)
        for (const document of old.catalogue.values()) expect(dateOf(document) < date).toBe(true)
        if (isJson(outcome)) expect(JSON.parse(outcome.stdout)).toMatchObject({ lastUpdatedDate: date })
        return 'new'
      },
    }
  }

  #record(code: string) {
    const groups = Array.from({ length: this.#random.below(3) }, (_, index) => ({
      minorGroupRelationType: index === 0 ? 'Primary' : 'Secondary',
      minorGroup: {
        code: `${10 + ((this.#random.below(30) + index * 30) % 90)}`,
        majorGroups: [
          { majorGroupRelationType: 'Primary', majorGroup: { code: `${this.#random.below(9)}` } },
        ],
      },
    }))
    return {
      occupationCode: code,
      titleEnglish: `Attempt ${this.#count}`,
      descriptionEnglish: `${this.#random.fraction()} `.repeat(20).trim(),
      ...(groups.length > 0 && { minorGroups: groups }),
    }
  }

  /** A run of a submission that exists, or of a new one whose token the command chooses. */
  #publish(before: State): Attempt {
    const tokens = [...before.submissions.keys()]
    const known = this.#random.chance(0.7) ? tokens[this.#random.below(tokens.length)] : undefined
    const length = 1 + this.#random.below(this.#sizes.entries * 2)
    const entries = Array.from({ length }, (_, index) => ({
      localId: `L${this.#count}-${index}`,
      errorCode: `E${this.#random.below(50)}`,
      errorDescription: 'The date lies outside the period of the course.',
      errorType: 'Error',
    }))
    this.#write('run.ndjson', toLines(entries))
    const expected = { eid: '1001', returnId: 'R1', entries: entries.map((entry) => JSON.stringify(entry)) }
    const token = known === undefined ? [] : ['--token', known]
    return {
      parameters: ['results', 'publish', '--eid', '1001', '--return', 'R1', ...token, '--json', 'run.ndjson'],
      acknowledged: isJson,
      judge: (old, now, outcome) => {
        expectSame(now, old, ['keys', 'catalogue'])
        const changed = [...now.submissions.keys()].filter(
          (each) => JSON.stringify(now.submissions.get(each)) !== JSON.stringify(old.submissions.get(each)),
        )
        const gone = tokens.filter((each) => !now.submissions.has(each))
        expect(gone).toEqual([])
        if (changed.length === 0) return 'old'
        expect(changed).toEqual([known ?? expect.any(String)])
        expect(now.submissions.get(changed[0] ?? '')).toEqual(expected)
        if (isJson(outcome)) expect(JSON.parse(outcome.stdout)).toMatchObject({ submissionToken: changed[0] })
        return 'new'
      },
    }
  }

  #createKey(): Attempt {
    const client = `client-${this.#count}`
    return {
      parameters: ['keys', 'create', '--client', client, '--eid', '1001', '--json'],
      acknowledged: isJson,
      judge: (old, now, outcome) => {
        expectSame(now, old, ['submissions', 'catalogue'])
        const made = [...now.keys.values()].filter(({ id }) => !old.keys.has(id))
        for (const [id, key] of old.keys) expect(now.keys.get(id)).toEqual(key)
        if (made.length === 0) return 'old'
        expect(made).toMatchObject([{ client, eids: ['1001'], revoked: null }])
        if (isJson(outcome)) expect(JSON.parse(outcome.stdout)).toMatchObject({ id: made[0]?.id })
        return 'new'
      },
    }
  }

  #export(before: State): Attempt {
    const path = join(this.#folder, 'catalogue.ndjson')
    if (this.#random.chance(0.5)) rmSync(path, { force: true })
    else writeFileSync(path, `an older one ${this.#count}\n`)
    const old = existsSync(path) ? readFileSync(path, 'utf8') : undefined
    const whole = [...before.catalogue.values()].map((document) => `${document}\n`).join('')
    return {
      parameters: ['occupations', 'export', '--output', 'catalogue.ndjson'],
      acknowledged: ({ stderr }) => stderr.startsWith('Exported'),
      judge: (was, now) => {
        expectSame(now, was, ['keys', 'submissions', 'catalogue'])
        const found = existsSync(path) ? readFileSync(path, 'utf8') : undefined
        if (found === old) return 'old'
        expect(found === whole, 'the file is neither the old one nor the new one').toBe(true)
        return 'new'
      },
    }
  }

  #write(name: string, text: string): void {
    writeFileSync(join(this.#folder, name), text)
  }
}

function isJson({ stdout }: Outcome): boolean {
  return stdout.endsWith('}\n') && !stdout.startsWith('{"faults"')
}

function withoutDate(document: string): string {
  return document.replace(/,"lastUpdatedDate":"[^"]*"\}$/, '}')
}

function dateOf(document: string): string {
  return /"lastUpdatedDate":"([^"]*)"\}$/.exec(document)?.[1] ?? ''
}

/** Fails with few words where many would say no more. */
function expectSame(now: State, old: State, parts: readonly ('keys' | 'submissions' | 'catalogue')[]): void {
  expect(now.tables).toEqual(old.tables)
  for (const part of parts) {
    const same = JSON.stringify([...now[part]]) === JSON.stringify([...old[part]])
    expect(same, `the ${part} should have stayed as they were`).toBe(true)
  }
}

function isSameMap(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key) === value)
}
