type Method = (this: never, ...values: never[]) => unknown

/** What a call of each function costs, which scans or copies text or bytes. */
const COSTS: readonly (readonly [
  object,
  string,
  (self: Measured, values: readonly unknown[], result: unknown) => number,
])[] = [
  [String.prototype, 'indexOf', costOfSearch],
  [String.prototype, 'includes', (self) => self.length],
  [String.prototype, 'split', (self) => self.length],
  [String.prototype, 'replaceAll', (self) => self.length],
  [String.prototype, 'charCodeAt', () => 1],
  [Buffer.prototype, 'indexOf', costOfSearch],
  [Buffer.prototype, 'lastIndexOf', (self, _, result) => self.length - Number(result)],
  [Buffer.prototype, 'includes', (self) => self.length],
  [Buffer.prototype, 'copy', (_self, _values, result) => Number(result)],
  [Buffer.prototype, 'toString', (_self, _values, result) => String(result).length],
  [TextDecoder.prototype, 'decode', (_self, _values, result) => String(result).length],
  [Buffer, 'concat', (_self, _values, result) => (result as Buffer).length],
  [JSON, 'parse', (_self, [text]) => String(text).length],
  [JSON, 'stringify', (_self, _values, result) => String(result).length],
]

interface Measured {
  readonly length: number
}

function costOfSearch(self: Measured, [, from]: readonly unknown[], result: unknown): number {
  const start = typeof from === 'number' ? from : 0
  return (result === -1 ? self.length : Number(result) + 1) - start
}

/** Counts the bytes and characters that a program looks at or copies. Nothing else may run meanwhile. */
export async function countWork(program: () => Promise<unknown>): Promise<{ total: number }> {
  let total = 0
  const natives = COSTS.map(([owner, name, cost]) => {
    const native = Reflect.get(owner, name) as Method
    Reflect.set(owner, name, function counted(this: never, ...values: never[]) {
      const result = native.apply(this, values)
      total += Math.max(1, cost(this, values, result))
      return result
    })
    return () => Reflect.set(owner, name, native)
  })
  try {
    await program()
    return { total }
  } finally {
    for (const restore of natives) restore()
  }
}
