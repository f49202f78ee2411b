import { readFile } from 'node:fs/promises'
import type { SearchDocument } from '../../src/engines/finding/document.ts'
import { fold } from '../../src/engines/finding/fold.ts'

/** A job title that others have labelled. */
export interface LabelledTitle {
  readonly title: string
  /** The codes of the Standard Occupational Classification that are right: the first seven characters of O*NET's. */
  readonly soc: readonly string[]
}

export interface TitleSource {
  readonly name: string
  readonly titles: readonly LabelledTitle[]
}

const SOC_LENGTH = 7
/** That of confirmed names in a new catalogue. */
const CONFIRMED_WEIGHT = 3

export function isRight({ soc }: LabelledTitle, code: string | undefined): boolean {
  return code !== undefined && soc.includes(code.slice(0, SOC_LENGTH))
}

/** Reads a JSON object with a list of labelled titles for each source. */
export async function readTitles(file: string): Promise<TitleSource[]> {
  const sources = JSON.parse(await readFile(file, 'utf8')) as Record<string, LabelledTitle[]>
  return Object.entries(sources).map(([name, titles]) => ({ name, titles }))
}

/** How people speak of work, and the codes that are right. */
export interface EverydayQuery extends LabelledTitle {
  /** `slang`, `task` or `misspelt`. */
  readonly kind: string
}

/** Reads the queries of `everyday.tsv`: every second one is kept apart from tuning. */
export async function readEveryday(): Promise<{ tuned: EverydayQuery[]; kept: EverydayQuery[] }> {
  const text = await readFile(new URL('everyday.tsv', import.meta.url), 'utf8')
  const queries = text
    .trimEnd()
    .split('\n')
    .map((line): EverydayQuery => {
      const [kind = '', title = '', codes = ''] = line.split('\t')
      return { kind, title, soc: codes.split(' ') }
    })
  return { tuned: queries.filter((_, at) => at % 2 === 0), kept: queries.filter((_, at) => at % 2 === 1) }
}

/** The titles that are no name of the catalogue. */
export function listUnknown(
  { titles }: TitleSource,
  documents: readonly SearchDocument[],
): readonly LabelledTitle[] {
  const known = new Set(documents.flatMap(({ names }) => names.map(({ text }) => fold(text))))
  return titles.filter(({ title }) => !known.has(fold(title)))
}

/** The documents with labelled titles as further names, as a person who confirms codings adds them. */
export function learn(
  documents: readonly SearchDocument[],
  titles: readonly LabelledTitle[],
): SearchDocument[] {
  const names = new Map<string, string[]>()
  for (const { title, soc } of titles) {
    for (const each of soc) {
      // Of several occupations of one code, the general one comes first.
      const code = documents.find((document) => document.code.startsWith(each))?.code ?? ''
      names.set(code, [...(names.get(code) ?? []), title])
    }
  }
  return documents.map((document) => ({
    ...document,
    names: [
      ...document.names,
      ...(names.get(document.code) ?? []).map((text) => ({
        text,
        language: 'en' as const,
        field: 'searchOnly' as const,
        weight: CONFIRMED_WEIGHT,
        confirmed: true,
      })),
    ],
  }))
}
