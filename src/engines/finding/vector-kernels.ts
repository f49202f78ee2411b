import { lookUp } from '../../foundation/look-up.ts'

/**
 * Three loops over rows of vectors, in WebAssembly with SIMD, which JavaScript has not: the training of the embedding
 * spends its time in them, and queries spent a quarter of theirs in such a loop of JavaScript. Rows and vectors are
 * 32-bit floats; their length is a multiple of `LANES`. All places are bytes in the memory, and `list` holds row
 * numbers. The results are the same on every machine.
 */
interface VectorKernels {
  /** `out[k]` becomes the inner product of row `list[k]` and the vector. */
  multiply: Kernel
  /** Adds each row `list[k]`, multiplied by `factors[k]`, to the vector. */
  addRows: Kernel
  /** Adds the vector, multiplied by `factors[k]`, to each row `list[k]`. */
  addToRows: Kernel
}

type Kernel = (
  list: number,
  factorsOrOut: number,
  count: number,
  rows: number,
  rowBytes: number,
  vector: number,
) => void

const LANES = 8

/** The length of a row of vectors with so many dimensions: those that are added stay 0. */
export function rowLength(dimensions: number): number {
  return Math.ceil(dimensions / LANES) * LANES
}

/** Memory of a fixed size in which the kernels work. */
export class VectorMemory {
  readonly #memory: WebAssembly.Memory
  readonly #kernels: VectorKernels
  #used = 0

  /** @param numbers how many floats and integers of 32 bits will be allocated */
  constructor(numbers: number) {
    this.#memory = new WebAssembly.Memory({ initial: Math.ceil((numbers * 4) / 65536) })
    this.#kernels = compileKernels(this.#memory)
  }

  floats(length: number): Float32Array {
    return new Float32Array(this.#memory.buffer, this.#allocate(length), length)
  }

  integers(length: number): Uint32Array {
    return new Uint32Array(this.#memory.buffer, this.#allocate(length), length)
  }

  /** Rows of vectors, copied from an array without room between them. */
  rows(vectors: Float32Array, dimensions: number): Float32Array {
    const rows = this.floats((vectors.length / dimensions) * rowLength(dimensions))
    copyRows(vectors, dimensions, rows, rowLength(dimensions))
    return rows
  }

  /** Runs a kernel over the first `count` rows of a list. All arrays are in this memory. */
  run(
    kernel: keyof VectorKernels,
    list: Uint32Array,
    factorsOrOut: Float32Array,
    count: number,
    rows: Float32Array,
    vector: Float32Array,
  ): void {
    this.#kernels[kernel](
      list.byteOffset,
      factorsOrOut.byteOffset,
      count,
      rows.byteOffset,
      vector.byteLength,
      vector.byteOffset,
    )
  }

  #allocate(length: number): number {
    const offset = this.#used
    this.#used += length * 4
    return offset
  }
}

/** Copies rows of one length to rows of another, as far as they go. */
export function copyRows(from: Float32Array, fromSize: number, to: Float32Array, toSize: number): void {
  const size = Math.min(fromSize, toSize)
  for (let row = 0; row * fromSize < from.length; row++)
    to.set(from.subarray(row * fromSize, row * fromSize + size), row * toSize)
}

/** The instructions that are used, by their names in the text format; the numbers after a name are its operands. */
const CODES = lookUp<readonly number[]>({
  block: [0x02, 0x40],
  loop: [0x03, 0x40],
  end: [0x0b],
  br: [0x0c],
  br_if: [0x0d],
  get: [0x20],
  set: [0x21],
  'i32.load': [0x28, 2, 0],
  'f32.load': [0x2a, 2, 0],
  'f32.store': [0x38, 2, 0],
  const: [0x41],
  eqz: [0x45],
  lt: [0x49],
  add: [0x6a],
  sub: [0x6b],
  mul: [0x6c],
  'f32.zero': [0x43, 0, 0, 0, 0],
  'f32.add': [0x92],
  'v128.load': [0xfd, 0x00, 2, 0],
  'v128.load+16': [0xfd, 0x00, 2, 16],
  'v128.store': [0xfd, 0x0b, 2, 0],
  splat: [0xfd, 0x13],
  lane: [0xfd, 0x1f],
  'f32x4.add': [0xfd, 0xe4, 0x01],
  'f32x4.mul': [0xfd, 0xe6, 0x01],
})

// Parameters: 0 list, 1 factors or out, 2 count, 3 rows, 4 bytes of a row, 5 vector. Locals: 6 the row, 7 the place in
// it, 8 and 9 sums or the factor: two sums, because each addition to one would wait for the one before.
const BEGIN = 'block loop get 2 eqz br_if 1 get 0 i32.load get 4 mul get 3 add set 6 const 0 set 7'
const NEXT = 'get 0 const 4 add set 0 get 1 const 4 add set 1 get 2 const 1 sub set 2 br 0 end end end'
const ROW = 'get 6 get 7 add'
const VECTOR = 'get 5 get 7 add'
const untilEndOfRow = (bytes: number) => `get 7 const ${bytes} add set 7 get 7 get 4 lt br_if 0 end`
const FACTOR = 'get 1 f32.load splat set 8'

const BODIES: Readonly<Record<keyof VectorKernels, string>> = {
  multiply: `${BEGIN} f32.zero splat set 8 f32.zero splat set 9 loop
    get 8 ${ROW} v128.load ${VECTOR} v128.load f32x4.mul f32x4.add set 8
    get 9 ${ROW} v128.load+16 ${VECTOR} v128.load+16 f32x4.mul f32x4.add set 9 ${untilEndOfRow(32)}
    get 8 get 9 f32x4.add set 8
    get 1 get 8 lane 0 get 8 lane 1 f32.add get 8 lane 2 get 8 lane 3 f32.add f32.add f32.store ${NEXT}`,
  addRows: `${BEGIN} ${FACTOR} loop
    ${VECTOR} ${VECTOR} v128.load ${ROW} v128.load get 8 f32x4.mul f32x4.add v128.store ${untilEndOfRow(16)} ${NEXT}`,
  addToRows: `${BEGIN} ${FACTOR} loop
    ${ROW} ${ROW} v128.load ${VECTOR} v128.load get 8 f32x4.mul f32x4.add v128.store ${untilEndOfRow(16)} ${NEXT}`,
}

function compileKernels(memory: WebAssembly.Memory): VectorKernels {
  const module = new WebAssembly.Module(Uint8Array.from(assembleModule()))
  return new WebAssembly.Instance(module, { a: { m: memory } }).exports as unknown as VectorKernels
}

function assembleModule(): number[] {
  const [i32, v128] = [0x7f, 0x7b]
  const names = Object.keys(BODIES)
  const bodies = Object.values(BODIES).map((body) => withSize([2, 2, i32, 2, v128, ...assemble(body)]))
  const section = (id: number, content: readonly number[]) => [id, ...withSize(content)]
  const text = (name: string) => withSize([...Buffer.from(name)])
  return [
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 6, i32, i32, i32, i32, i32, i32, 0]),
    ...section(2, [1, ...text('a'), ...text('m'), 2, 0, 0]),
    ...section(3, [names.length, ...names.map(() => 0)]),
    ...section(7, [names.length, ...names.flatMap((name, at) => [...text(name), 0, at])]),
    ...section(10, [names.length, ...bodies.flat()]),
  ]
}

function assemble(text: string): number[] {
  return text.split(/\s+/).flatMap((token) => CODES[token] ?? Number(token))
}

/** Preceded by the length in LEB128. */
function withSize(content: readonly number[]): number[] {
  const size: number[] = []
  let rest = content.length
  for (; rest >= 0x80; rest >>= 7) size.push((rest & 0x7f) | 0x80)
  return [...size, rest, ...content]
}
