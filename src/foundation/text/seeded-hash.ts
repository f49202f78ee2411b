import { randomFillSync } from 'node:crypto'

/**
 * Hashes for tables of our own. Callers choose what such a table holds, so a hash that they can compute would let
 * them choose colliding keys, and each look-up would take as long as the table is full. These differ in every process.
 *
 * Simple tabulation: a random number for each byte at each position, combined by XOR. Nobody who lacks the numbers can
 * do better than chance, and linear probing takes constant time (Pătraşcu and Thorup, "The Power of Simple Tabulation
 * Hashing", 2012).
 */
const POSITIONS = 32
const RANDOM = randomFillSync(new Int32Array(POSITIONS * 256))
const ODD = randomFillSync(new Int32Array(1)).map((number) => number | 1)[0] ?? 1

/** A number of 32 bits that is the same for equal texts in this process, and different in every other. */
export function hashText(text: string): number {
  let hash = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const position = index & (POSITIONS - 1)
    // Positions repeat, so what came before must not be combined by XOR only.
    if (position === 0 && index > 0) hash = mix(hash)
    hash ^= RANDOM[(position << 8) | (code & 0xff)] as number
    if (code > 0xff) hash = mix(hash ^ (RANDOM[code >> 8] as number))
  }
  return hash
}

/** The same for pairs of numbers of 32 bits. */
export function hashPair(first: number, second: number): number {
  return (
    (RANDOM[first & 0xff] as number) ^
    (RANDOM[0x100 | ((first >>> 8) & 0xff)] as number) ^
    (RANDOM[0x200 | ((first >>> 16) & 0xff)] as number) ^
    (RANDOM[0x300 | (first >>> 24)] as number) ^
    (RANDOM[0x400 | (second & 0xff)] as number) ^
    (RANDOM[0x500 | ((second >>> 8) & 0xff)] as number) ^
    (RANDOM[0x600 | ((second >>> 16) & 0xff)] as number) ^
    (RANDOM[0x700 | (second >>> 24)] as number)
  )
}

function mix(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), ODD)
  return mixed ^ (mixed >>> 13)
}
