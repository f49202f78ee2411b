import { translatePattern } from './pattern.ts'

/** A part of a pattern as positions of an automaton (Glushkov): where it begins and ends, and whether it may be empty. */
interface Part {
  readonly first: readonly number[]
  readonly last: readonly number[]
  readonly isEmpty: boolean
}

/** Adds a part to the automaton, once for each of its repetitions. */
type Build = () => Part

const NOTHING: Part = { first: [], last: [], isEmpty: true }

/** Repetitions up to so many are copies; more of them have no limit. */
const MOST_COPIES = 8
/** The most steps of the search: a pattern that needs more has hundreds of parts, and is not judged. */
const MOST_STEPS = 5_000_000
/** The most sets of positions that are looked at. */
const MOST_SETS = 500

/** Whether the time of a pattern can double with each further character of a value, as that of `(a+)+` does. */
export function growsExponentially(pattern: string): boolean {
  const automaton = new Automaton(translatePattern(pattern))
  // Where every text matches, as with `(.|\s)*`, no other way is tried.
  return automaton.isAmbiguous() && automaton.canFail()
}

const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d+)?)?\})\??/y
/** What begins a group; the text of one that only looks around is no part of the value. */
const GROUP = /\((?:\?(?:(<?[=!])|<[^>]*>|[a-z-]*:))?/y
const ESCAPE = /\\(?:[pPu]\{[^}]*\}|u[\da-f]{4}|x[\da-f]{2}|c[a-z]|k<[^>]*>|\d+|.)/isy
/** What has no characters: the end, boundaries and references to groups. */
const EMPTY = /^(?:\$|\\(?:[bBk]|[1-9]).*)$/

/** Characters with which the classes of a pattern are compared, beside its own. */
const SAMPLES = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  ...['\u00a0', 'é', 'ā', 'Ω', '–', 'ʻ', '\u0301', '٣', '中', '😀'],
]

class Automaton {
  readonly #source: string
  readonly #samples: readonly string[]
  #at = 0
  /** By position: the samples that its class has, and the positions that follow it, once for each way to them. */
  readonly #classes: ReadonlySet<string>[] = []
  readonly #next: number[][] = []
  readonly #whole: Part

  constructor(source: string) {
    this.#source = source
    this.#samples = [...new Set([...SAMPLES, ...source])]
    this.#whole = this.#readAlternatives()()
  }

  /** Whether a text leads from a position to itself in two ways. */
  isAmbiguous(): boolean {
    let steps = MOST_STEPS
    return this.#next.some((_, start) => {
      const seen = new Set<string>()
      const waiting = [{ one: start, other: start, differs: false }]
      for (let pair = waiting.pop(); pair !== undefined; pair = waiting.pop()) {
        const { one, other, differs } = pair
        for (const [way, first] of (this.#next[one] ?? []).entries()) {
          for (const [otherWay, second] of (this.#next[other] ?? []).entries()) {
            if (steps-- < 0) return false
            if (this.#classes[first]?.isDisjointFrom(this.#classes[second] ?? new Set()) !== false) continue
            const isOther = differs || one !== other || way !== otherWay
            if (isOther && first === start && second === start) return true
            const key = `${first} ${second} ${isOther}`
            if (seen.has(key)) continue
            seen.add(key)
            waiting.push({ one: first, other: second, differs: isOther })
          }
        }
      }
      return false
    })
  }

  /** Whether a text does not match, wherever in the pattern it begins. */
  canFail(): boolean {
    const ends = new Set(this.#whole.last)
    const sets = new Map<string, readonly number[]>([['', [...this.#next.keys()]]])
    for (const positions of sets.values()) {
      for (const sample of this.#samples) {
        const next = new Set(positions.flatMap((position) => this.#next[position] ?? []))
        const reached = [...next].filter((position) => this.#classes[position]?.has(sample)).sort()
        if (reached.every((position) => !ends.has(position)) || sets.size > MOST_SETS) return true
        sets.set(reached.join(), reached)
      }
    }
    return false
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#source)
    if (match !== null) this.#at = pattern.lastIndex
    return match ?? undefined
  }

  #readAlternatives(): Build {
    const sequences: Build[][] = [[]]
    while (this.#at < this.#source.length && this.#source[this.#at] !== ')') {
      if (this.#source[this.#at] === '|') {
        this.#at++
        sequences.push([])
      } else sequences.at(-1)?.push(this.#readRepeated())
    }
    this.#at++
    return () => {
      const parts = sequences.map((builds) =>
        builds.reduce<Part>((before, build) => this.#join(before, build()), NOTHING),
      )
      return {
        first: parts.flatMap(({ first }) => first),
        last: parts.flatMap(({ last }) => last),
        isEmpty: parts.some(({ isEmpty }) => isEmpty),
      }
    }
  }

  #readRepeated(): Build {
    const build = this.#readOne()
    const [found, sign, count, comma, limit] = this.#match(QUANTIFIER) ?? []
    if (found === undefined) return build
    const least = sign === undefined ? Number(count) : sign === '+' ? 1 : 0
    const open = sign === '?' ? 1 : Number.POSITIVE_INFINITY
    const most = sign !== undefined || comma !== undefined ? Number(limit ?? open) : least
    return () => {
      if (most > MOST_COPIES) {
        const part = build()
        this.#connect(part.last, part.first)
        return { ...part, isEmpty: part.isEmpty || least === 0 }
      }
      let rest = NOTHING
      for (let copy = most; copy > 0; copy--) {
        const joined = this.#join(build(), rest)
        rest = { ...joined, isEmpty: joined.isEmpty || copy > least }
      }
      return rest
    }
  }

  #readOne(): Build {
    const group = this.#match(GROUP)
    if (group !== undefined) {
      const build = this.#readAlternatives()
      return group[1] === undefined ? build : () => NOTHING
    }
    const start = this.#at
    if (this.#match(ESCAPE) === undefined) this.#passCharacter()
    const text = this.#source.slice(start, this.#at)
    if (EMPTY.test(text)) return () => NOTHING
    const test = new RegExp(`^${text}$`, 'v')
    // A start has no character, and none that is a sample leads to it: behind another character, it matches nothing.
    const own = text === '^' ? new Set(['']) : new Set(this.#samples.filter((sample) => test.test(sample)))
    return () => {
      const position = this.#next.push([]) - 1
      this.#classes.push(own)
      return { first: [position], last: [position], isEmpty: false }
    }
  }

  /** Moves behind a character, or a class with those within it. */
  #passCharacter(): void {
    let depth = 0
    do {
      const character = String.fromCodePoint(this.#source.codePointAt(this.#at) ?? 0)
      if (character === '[') depth++
      if (character === ']') depth--
      this.#at += character === '\\' ? 2 : character.length
    } while (depth > 0 && this.#at < this.#source.length)
  }

  #join(one: Part, other: Part): Part {
    this.#connect(one.last, other.first)
    return {
      first: one.isEmpty ? [...one.first, ...other.first] : one.first,
      last: other.isEmpty ? [...one.last, ...other.last] : other.last,
      isEmpty: one.isEmpty && other.isEmpty,
    }
  }

  #connect(ends: readonly number[], starts: readonly number[]): void {
    for (const end of ends) this.#next[end]?.push(...starts)
  }
}
