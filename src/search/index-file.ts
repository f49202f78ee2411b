import type { IndexData, IndexHeader } from './index-data.ts'

/** Incremented whenever the format or the computation of the index changes. */
export const INDEX_FORMAT = 3

const MAGIC = 0x3153484d // "MHS1"
type Numbers = Uint8Array | Uint16Array | Uint32Array | Float32Array
type ArrayName = 'Uint8Array' | 'Uint16Array' | 'Uint32Array' | 'Float32Array'

interface Section {
  readonly path: string
  readonly type: ArrayName
  readonly offset: number
  readonly length: number
}

/** Packs an index into one piece of memory that threads can share. */
export function packIndex(data: IndexData): SharedArrayBuffer {
  const sections: Section[] = []
  const arrays: Numbers[] = []
  let offset = 0
  for (const [path, array] of listArrays(data)) {
    sections.push({ path, type: typeOf(array), offset, length: array.length })
    arrays.push(array)
    offset += Math.ceil(array.byteLength / 8) * 8
  }
  const head = Buffer.from(JSON.stringify({ header: data.header, sections }))
  const start = Math.ceil((8 + head.length) / 8) * 8
  const memory = new SharedArrayBuffer(start + offset)
  new Uint32Array(memory, 0, 2).set([MAGIC, head.length])
  new Uint8Array(memory, 8, head.length).set(head)
  sections.forEach((section, at) => {
    const array = arrays[at]
    if (array !== undefined)
      viewArray(section.type, memory, start + section.offset, section.length).set(array)
  })
  return memory
}

/**
 * Memory of the same size for each index in use. V8 does not count shared memory, so without this it would see no reason
 * to collect the indexes that were replaced. It is never written to, and so takes up none.
 */
const weights = new WeakMap<ArrayBufferLike, ArrayBuffer>()

/**
 * Opens a packed index without copying it.
 *
 * @returns `undefined` if it is not an index, or has another format
 */
export function openIndex(memory: ArrayBufferLike): IndexData | undefined {
  if (memory.byteLength < 8) return undefined
  const [magic, length] = new Uint32Array(memory, 0, 2)
  if (magic !== MAGIC || length === undefined || length + 8 > memory.byteLength) return undefined
  const parsed: unknown = JSON.parse(Buffer.from(new Uint8Array(memory, 8, length)).toString('utf8'))
  const { header, sections } = parsed as { header: IndexHeader; sections: Section[] }
  if (header.format !== INDEX_FORMAT) return undefined
  if (memory instanceof SharedArrayBuffer) weights.set(memory, new ArrayBuffer(memory.byteLength))
  const start = Math.ceil((8 + length) / 8) * 8
  const data: Record<string, unknown> = { header }
  for (const { path, type, offset, length: size } of sections) {
    const array = viewArray(type, memory, start + offset, size)
    const [outer = '', inner] = path.split('.')
    if (inner === undefined) data[outer] = array
    else data[outer] = { ...(data[outer] as object), [inner]: array }
  }
  return data as unknown as IndexData
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

function viewArray(type: ArrayName, memory: ArrayBufferLike, offset: number, length: number): Numbers {
  if (type === 'Uint8Array') return new Uint8Array(memory, offset, length)
  if (type === 'Uint16Array') return new Uint16Array(memory, offset, length)
  if (type === 'Uint32Array') return new Uint32Array(memory, offset, length)
  return new Float32Array(memory, offset, length)
}

function typeOf(array: Numbers): ArrayName {
  if (array instanceof Uint8Array) return 'Uint8Array'
  if (array instanceof Uint16Array) return 'Uint16Array'
  return array instanceof Uint32Array ? 'Uint32Array' : 'Float32Array'
}
