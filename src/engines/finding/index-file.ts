import type { IndexData, IndexHeader } from './index-data.ts'

/** Incremented whenever the format or the computation of the index changes. */
export const INDEX_FORMAT = 9

const MAGIC = 0x3353484d // "MHS3"
/** The magic number and the bytes of the head. */
const START = 8
type ArrayName = 'Uint8Array' | 'Uint32Array' | 'Float32Array'
const TYPES: Record<ArrayName, new (memory: ArrayBufferLike, offset: number, length: number) => Numbers> = {
  Uint8Array,
  Uint32Array,
  Float32Array,
}
type Numbers = Uint8Array | Uint32Array | Float32Array

interface Section {
  readonly path: string
  readonly type: ArrayName
  readonly offset: number
  readonly length: number
}

/** The bytes of a packed index, piece by piece, so that nobody has to hold a copy of it. */
export function* listPieces(data: IndexData): Generator<Uint8Array> {
  const sections: Section[] = []
  const arrays: Numbers[] = []
  let offset = 0
  for (const [path, array] of listArrays(data)) {
    sections.push({ path, type: array.constructor.name as ArrayName, offset, length: array.length })
    arrays.push(array)
    offset += align(array.byteLength)
  }
  const head = Buffer.from(JSON.stringify({ header: data.header, sections }))
  const start = align(START + head.length)
  const first = new Uint8Array(start)
  new Uint32Array(first.buffer, 0, 2).set([MAGIC, head.length])
  first.set(head, START)
  yield first
  for (const array of arrays) {
    yield new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
    yield new Uint8Array(align(array.byteLength) - array.byteLength)
  }
}

/**
 * Opens a packed index without copying it.
 *
 * @returns `undefined` if it is not an index, or has another format
 */
export function openIndex(memory: ArrayBufferLike): IndexData | undefined {
  if (memory.byteLength < START) return undefined
  const [magic, length] = new Uint32Array(memory, 0, 2)
  if (magic !== MAGIC || length === undefined || length + START > memory.byteLength) return undefined
  const parsed: unknown = JSON.parse(Buffer.from(new Uint8Array(memory, START, length)).toString('utf8'))
  const { header, sections } = parsed as { header: IndexHeader; sections: Section[] }
  if (header.format !== INDEX_FORMAT) return undefined
  const start = align(START + length)
  const data: Record<string, unknown> = { header }
  for (const { path, type, offset, length: size } of sections) {
    const array = new TYPES[type](memory, start + offset, size)
    const [outer = '', inner] = path.split('.')
    if (inner === undefined) data[outer] = array
    else data[outer] = { ...(data[outer] as object), [inner]: array }
  }
  return data as unknown as IndexData
}

/** Typed arrays start at multiples of the size of their elements. */
function align(bytes: number): number {
  return Math.ceil(bytes / 8) * 8
}

function* listArrays(data: IndexData): Generator<[string, Numbers]> {
  for (const [name, value] of Object.entries(data)) {
    if (name === 'header') continue
    if (ArrayBuffer.isView(value)) yield [name, value as Numbers]
    else
      for (const [inner, array] of Object.entries(value as object))
        yield [`${name}.${inner}`, array as Numbers]
  }
}
