import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOnet } from '../../src/catalogue/onet/import.ts'
import type { OccupationRecord } from '../../src/catalogue/records/schema.ts'
import { toSearchDocument } from '../../src/catalogue/search/documents.ts'
import type { SearchDocument } from '../../src/engines/finding/document.ts'
import { fold } from '../../src/engines/finding/fold.ts'
import { seeded } from '../data.ts'

/** An alternate title of O*NET that the index does not hold, in three spellings, and where O*NET lists it. */
export interface Query {
  readonly text: string
  readonly typo: string
  readonly half: string
  readonly codes: readonly string[]
}

const TITLES = 'Alternate Titles.txt'
const ROWS = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm']

/** Draws queries from the alternate titles, and reads the rest of the release as the catalogue and its search-only names. */
export async function drawQueries(folder: string, wages: string, count: number, seed: number) {
  const random = seeded(seed)
  const lines = (await readFile(join(folder, TITLES), 'utf8')).split('\n')
  const forms = new Map<string, { text: string; codes: Set<string> }>()
  for (const line of lines.slice(1)) {
    const [code = '', title = ''] = line.split('\t')
    const entry = forms.get(fold(title)) ?? { text: title, codes: new Set<string>() }
    forms.set(fold(title), { ...entry, codes: entry.codes.add(code) })
  }
  // What a record shows is no query: a stranger would only ask for what nobody has imported.
  const shown = new Set((await readDocuments(folder, wages)).flatMap(({ shown }) => shown))
  const pool = [...forms].filter(([form]) => form !== '' && !shown.has(form))
  for (let index = 0; index < Math.min(count, pool.length); index++) {
    const other = index + Math.floor(random() * (pool.length - index))
    const [one, two] = [pool[index], pool[other]]
    if (one !== undefined && two !== undefined) [pool[index], pool[other]] = [two, one]
  }
  const drawn = pool.slice(0, count)
  const held = new Set(drawn.map(([form]) => form))
  const rest = await mkdtemp(join(tmpdir(), 'mahi-search-'))
  await cp(folder, rest, { recursive: true, filter: (source) => !source.endsWith(TITLES) })
  const kept = lines.filter((line, index) => index === 0 || !held.has(fold(line.split('\t')[1] ?? '')))
  await writeFile(join(rest, TITLES), kept.join('\n'))
  const queries = drawn.map(([, { text, codes }]): Query => {
    const half = text.slice(0, Math.max(3, Math.ceil(text.length * 0.6)))
    return { text, typo: slip(text, random), half, codes: [...codes] }
  })
  const documents = await readCatalogue(rest, wages)
  await rm(rest, { recursive: true })
  return { queries, documents }
}

/** The whole catalogue with all its names. */
export async function readCatalogue(folder: string, wages: string): Promise<SearchDocument[]> {
  return (await readDocuments(folder, wages)).map(({ document }) => document)
}

async function readDocuments(folder: string, wages: string) {
  const others = new Map<string, readonly string[]>()
  const found: { document: SearchDocument; shown: string[] }[] = []
  const onOtherTitles = (code: string, titles: readonly string[]) => void others.set(code, titles)
  for await (const { value } of readOnet(folder, { wages, onOtherTitles })) {
    const record = value as OccupationRecord
    const names = (others.get(record.occupationCode ?? '') ?? []).map((text) => ({
      text,
      language: 'en' as const,
    }))
    const document = toSearchDocument(record, names)
    const shown = document.names.filter(({ field }) => field !== 'searchOnly').map(({ text }) => fold(text))
    found.push({ document, shown })
  }
  return found
}

/** One slip of the keys in a word of at least four letters, never its first: dropped, doubled, swapped or a neighbour. */
function slip(text: string, random: () => number): string {
  const words = [...text.matchAll(/\p{L}{4,}/gu)]
  const match = words[Math.floor(random() * words.length)]
  if (match === undefined) return text
  const [word] = match
  const at = 1 + Math.floor(random() * (word.length - 1))
  const letter = word[at] ?? ''
  const kind = Math.floor(random() * 4)
  const written = [
    word.slice(0, at) + word.slice(at + 1),
    word.slice(0, at) + letter + word.slice(at),
    word.slice(0, at) + (word[at + 1] ?? '') + letter + word.slice(at + 2),
    word.slice(0, at) + findNeighbour(letter.toLowerCase(), random) + word.slice(at + 1),
  ][kind]
  return text.slice(0, match.index) + written + text.slice(match.index + word.length)
}

function findNeighbour(letter: string, random: () => number): string {
  const row = ROWS.find((each) => each.includes(letter)) ?? ''
  const at = row.indexOf(letter)
  const near = [row[at - 1], row[at + 1]].filter((each) => each !== undefined)
  return near[Math.floor(random() * near.length)] ?? 'e'
}
